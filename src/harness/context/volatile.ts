import { shouldSuppressAgentPromptPersistence } from "../../prompt/internal-events.ts";
import { estimateTokens } from "../../sessions/transcript/tokens.ts";
import type { UserMessage } from "../../types/run/model.ts";
import type { SessionWindow, TranscriptEntry } from "../../types/session.ts";
import type { Conversation, UserTurn } from "../request.ts";

/** Stands in the transcript where a prompt was asked that is not part of it. */
const MARK = "openclaw.suppressed_prompt";

/** A prompt that the model sees and the transcript does not keep: what it tells stands in another session already. */
export const isVolatile = ({ provenance, events }: UserTurn): boolean =>
  shouldSuppressAgentPromptPersistence({ inputProvenance: provenance, internalEvents: events });

/** Writes where the prompt is asked, without a word of it, so that another boot finds the turn again. */
export async function markTurn(conversation: Conversation, { entryId }: UserTurn): Promise<void> {
  await conversation.append({ type: "custom", customType: MARK }, { id: entryId, durable: true });
}

/** The conversation as this run shows it: with the prompt at its place. */
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

  async window(maxTokens: number): Promise<SessionWindow> {
    const window = await this.#inner.window(maxTokens);
    const behind = new Set(((await this.after(this.#entryId)) ?? []).map(({ id }) => id));
    const at = window.messages.findIndex((row) => behind.has(row.entryId));
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
