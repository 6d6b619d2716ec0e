import { isVolatile } from "../../prompt/internal-events.ts";
import { estimateInRequest } from "../../sessions/transcript/tokens.ts";
import type { UserMessage } from "../../types/run/model.ts";
import type { EntryBody, SessionWindow } from "../../types/session.ts";
import { isFields } from "../../utils/fields.ts";
import type { Conversation } from "../request.ts";
import { WrappedConversation } from "./wrapped-conversation.ts";

/** Marks the place in the transcript of a prompt that it does not keep. */
const MARK = "openclaw.suppressed_prompt";

type Append = Parameters<Conversation["append"]>;

interface Prompt {
  /** The id of the entry of the prompt's mark. */
  readonly entryId: string;
  readonly message: UserMessage;
}

/**
 * A conversation that keeps no prompt whose content another session has: only a mark of the prompt is written, so that
 * a later process finds its turn again. The models of this run see the prompt at its place.
 */
export class WithPrompts extends WrappedConversation {
  readonly #prompts: Prompt[] = [];
  /** Entries that stand for a prompt in later runs. */
  readonly #hidden = new Set<string>();

  /** Shows a prompt whose mark an earlier process wrote. */
  show(prompt: Prompt): void {
    if (isVolatile(prompt.message)) this.#prompts.push(prompt);
  }

  override async append(...[body, options]: Append): Promise<string> {
    if (body.type !== "message" || body.message.role !== "user" || !isVolatile(body.message)) {
      const id = await super.append(body, options);
      if (this.#isShown(placeOf(body))) this.#hidden.add(id);
      return id;
    }
    const entryId = await super.append({ type: "custom", customType: MARK }, { ...options, durable: true });
    this.show({ entryId, message: body.message });
    return entryId;
  }

  #isShown(place: unknown): boolean {
    return this.#prompts.some(({ entryId }) => entryId === place);
  }

  override async window(maxTokens: number): Promise<SessionWindow> {
    const window = await super.window(maxTokens);
    if (this.#prompts.length === 0) return window;
    let { estimatedTokens } = window;
    const isOut = ({ entryId }: SessionWindow["messages"][number]) => this.#hidden.has(entryId);
    for (const { message } of window.messages.filter(isOut)) estimatedTokens -= estimateInRequest(message);
    let messages = window.messages.filter((row) => !isOut(row));
    for (const row of this.#prompts) {
      const later = new Set(((await this.after(row.entryId)) ?? []).map(({ id }) => id));
      const at = messages.findIndex(({ entryId }) => later.has(entryId));
      messages = messages.toSpliced(at < 0 ? messages.length : at, 0, row);
      estimatedTokens += estimateInRequest(row.message);
    }
    return { ...window, messages, estimatedTokens };
  }
}

/** The mark of the prompt for which a note stands. */
const placeOf = (body: EntryBody): unknown =>
  body.type === "custom_message" && isFields(body.details) ? body.details["insteadOf"] : undefined;
