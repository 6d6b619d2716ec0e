import { shouldSuppressAgentPromptPersistence } from "../../prompt/internal-events.ts";
import { estimateInRequest } from "../../sessions/transcript/tokens.ts";
import type { UserMessage } from "../../types/run/model.ts";
import type { SessionWindow } from "../../types/session.ts";
import type { Conversation, UserTurn } from "../request.ts";
import { WrappedConversation } from "./wrapped-conversation.ts";

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
export class WithPrompt extends WrappedConversation {
  readonly #entryId: string;
  readonly #message: UserMessage;

  constructor(inner: Conversation, turn: UserTurn, message: UserMessage) {
    super(inner);
    this.#entryId = turn.entryId;
    this.#message = message;
  }

  override async window(maxTokens: number): Promise<SessionWindow> {
    const window = await super.window(maxTokens);
    const later = new Set(((await this.after(this.#entryId)) ?? []).map(({ id }) => id));
    const at = window.messages.findIndex((row) => later.has(row.entryId));
    const row = { entryId: this.#entryId, message: this.#message };
    const messages = window.messages.toSpliced(at < 0 ? window.messages.length : at, 0, row);
    return { ...window, messages, estimatedTokens: window.estimatedTokens + estimateInRequest(this.#message) };
  }
}
