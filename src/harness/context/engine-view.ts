import { type TranscriptPart, transcriptPart, withSaid } from "../../history/engines/turn/transcript-part.ts";
import type { ModelHandle } from "../../providers/catalog.ts";
import type { EngineAnswer, EngineTurn } from "../../types/engine/engine-turn.ts";
import type { ChatMessage } from "../../types/run/model.ts";
import type { SessionWindow } from "../../types/session.ts";
import type { RunRequest } from "../request.ts";
import { engineModel } from "./engine-model.ts";

interface ViewParts {
  readonly engine: EngineTurn | undefined;
  readonly request: RunRequest;
  readonly handle: ModelHandle;
  readonly signal: AbortSignal;
  /** Tokens that the conversation may fill, and of the whole window. */
  readonly budget: number;
  readonly window: number;
}

/** The conversation of one attempt as a context engine sees it: as the transcript has it. */
export class EngineView {
  readonly #parts: ViewParts;
  readonly #part: TranscriptPart;
  /** Messages that the loop began with. */
  #opened = Number.POSITIVE_INFINITY;

  constructor(window: SessionWindow, parts: ViewParts) {
    this.#parts = parts;
    this.#part = transcriptPart(window, parts.request.turn.entryId);
  }

  /** Messages before the present turn. */
  get before(): number {
    return this.#part.before;
  }

  /** The loop's first `opened` messages were made from the view; all later ones are new. */
  begin(opened: number): void {
    this.#opened = opened;
  }

  /** With the loop's messages since. */
  messages(loop: readonly ChatMessage[]): readonly ChatMessage[] {
    return withSaid(this.#part, loop, this.#opened);
  }

  async assemble(): Promise<EngineAnswer | undefined> {
    return this.#parts.engine?.assemble(this.#ask(this.#part.messages));
  }

  /** For owning engines, before each further call. */
  async reassemble(loop: readonly ChatMessage[]): Promise<EngineAnswer | undefined> {
    return this.#parts.engine?.reassemble(this.#ask(this.messages(loop)));
  }

  #ask(messages: readonly ChatMessage[]) {
    const { request, handle, signal, budget, window } = this.#parts;
    return {
      messages,
      prePromptMessageCount: this.#part.before,
      tokenBudget: budget,
      window,
      ...engineModel(handle),
      availableTools: new Set(request.tools.map((tool) => tool.name)),
      prompt: request.turn.text,
      signal,
    };
  }
}
