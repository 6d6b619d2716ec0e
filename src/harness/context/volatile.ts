import { shouldSuppressAgentPromptPersistence } from "../../prompt/internal-events.ts";
import { estimateTokens } from "../../sessions/transcript/tokens.ts";
import type { UserMessage } from "../../types/run/model.ts";
import type { SessionWindow, TranscriptEntry } from "../../types/session.ts";
import type { Conversation, UserTurn } from "../request.ts";

/** Marks the place in the transcript of a prompt that it does not keep. */
const MARK = "openclaw.suppressed_prompt";

/** A prompt that the model sees and the transcript does not keep, because another session has its content. */
export const isVolatile = ({ provenance, events }: UserTurn): boolean =>
  shouldSuppressAgentPromptPersistence({ inputProvenance: provenance, internalEvents: events });

/** Writes the mark, without the prompt's text, so that a later process finds the turn again. */
export async function markTurn(conversation: Conversation, { entryId }: UserTurn): Promise<void> {
  await conversation.append({ type: "custom", customType: MARK }, { id: entryId, durable: true });
}

/** The conversation with the volatile prompt at its place. */
export class WithPrompt implements Conversation {
  readonly #inner: Conversation;
  readonly #entryId: string;
  readonly #message: UserMessage;

  constructor(inner: Conversation, turn: UserTurn, message: UserMessage) {
    this.#inner = inner;
    this.#entryId = turn.entryId;
    this.#message = message;
  }

  get leafId(): string | null {
    return this.#inner.leafId;
  }

  get file(): string | undefined {
    return this.#inner.file;
  }

  async window(maxTokens: number): Promise<SessionWindow> {
    const window = await this.#inner.window(maxTokens);
    const later = new Set(((await this.after(this.#entryId)) ?? []).map(({ id }) => id));
    const at = window.messages.findIndex((row) => later.has(row.entryId));
    const row = { entryId: this.#entryId, message: this.#message };
    const messages = window.messages.toSpliced(at < 0 ? window.messages.length : at, 0, row);
    return { ...window, messages, estimatedTokens: window.estimatedTokens + estimateTokens(this.#message) };
  }

  after(entryId: string): Promise<readonly TranscriptEntry[] | undefined> {
    return this.#inner.after(entryId);
  }

  append(...args: Parameters<Conversation["append"]>): Promise<string> {
    return this.#inner.append(...args);
  }
}
