import {
  messagesBefore,
  type TranscriptPart,
  transcriptPart,
  withSaid,
} from "../../history/engines/turn/transcript-part.ts";
import type { ModelHandle } from "../../providers/catalog.ts";
import type { EngineAnswer, EngineTurn, EngineModel } from "../../types/engine/engine-turn.ts";
import type { ChatMessage } from "../../types/run/model.ts";
import type { SessionWindow } from "../../types/session.ts";
import type { RunRequest } from "../request.ts";

interface ViewParts {
  readonly engine: EngineTurn | undefined;
  readonly request: RunRequest;
  readonly handle: ModelHandle;
  readonly signal: AbortSignal;
  /** Tokens that the conversation may fill, and of the whole window. */
  readonly budget: number;
  readonly window: number;
}

/** The conversation of one attempt as a context engine sees it, which is as the transcript has it. */
export class EngineView {
  readonly #parts: ViewParts;
  readonly #window: SessionWindow;
  /** The number of messages before the present turn. */
  readonly before: number;
  #made: TranscriptPart | undefined;
  /** The number of messages that the loop began with. */
  #opened = Number.POSITIVE_INFINITY;

  constructor(window: SessionWindow, parts: ViewParts) {
    this.#parts = parts;
    this.#window = window;
    this.before = messagesBefore(window, parts.request.turn.entryId);
  }

  /** The part of the transcript, made when an engine or a plugin asks for it. */
  get #part(): TranscriptPart {
    this.#made ??= transcriptPart(this.#window, this.#parts.request.turn.entryId);
    return this.#made;
  }

  /** The loop's first `opened` messages were made from the view; all later ones are new. */
  begin(opened: number): void {
    this.#opened = opened;
  }

  /** The messages of the view, with the loop's messages since. */
  messages(loop: readonly ChatMessage[]): readonly ChatMessage[] {
    return withSaid(this.#part, loop, this.#opened);
  }

  async assemble(): Promise<EngineAnswer | undefined> {
    return this.#parts.engine?.assemble(this.#ask(this.#part.messages));
  }

  /** Asks an engine that owns compaction again, before each further call; undefined for other engines. */
  async reassemble(loop: readonly ChatMessage[]): Promise<EngineAnswer | undefined> {
    return this.#parts.engine?.reassemble(this.#ask(this.messages(loop)));
  }

  #ask(messages: readonly ChatMessage[]) {
    const { request, handle, signal, budget, window } = this.#parts;
    return {
      messages,
      prePromptMessageCount: this.before,
      tokenBudget: budget,
      window,
      ...engineModel(handle),
      availableTools: new Set(request.tools.map((tool) => tool.name)),
      prompt: request.turn.text,
      signal,
    };
  }
}

/** The model of a call with its key, as a context engine gets it. */
export const engineModel = ({ info, profile }: Pick<ModelHandle, "info" | "profile">): EngineModel => ({
  model: info,
  ...(profile.mode !== "none" && { authProfile: profile.id }),
});
