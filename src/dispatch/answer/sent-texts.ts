import { partText } from "../../outbox/render.ts";
import { MESSAGE_TOOL, callKeyPrefix, toolKeyPrefix } from "../../tools/message/message-result.ts";
import type { RunEvent } from "../../types/run/events.ts";
import type { OutboxRow } from "../../types/journal.ts";
import type { Peer } from "../../types/chat/message.ts";
import { forgetOldest } from "../../utils/forget-oldest.ts";
import { isSameChat } from "../chats.ts";

/** The most texts, and the most calls, that are remembered. */
const MOST = 200;
/**
 * The least number of letters and digits of a text that can repeat a part of another text; a shorter text repeats only
 * the very same text.
 */
const LEAST_PART = 10;

/** The texts that the message tool sent to the chat that is answered, so that the answer does not repeat them. */
export class SentTexts {
  readonly #inboxId: number;
  readonly #chat: Peer;
  readonly #pending = new Map<string, string>();
  readonly #sent: string[] = [];
  #has = false;

  /** `earlier`: rows of the same turn from before a restart. */
  constructor(inboxId: number, chat: Peer, earlier: readonly OutboxRow[]) {
    this.#inboxId = inboxId;
    this.#chat = chat;
    const own = earlier.filter((row) => row.replyKey.startsWith(toolKeyPrefix(inboxId)) && this.#arrives(row));
    for (const rows of Map.groupBy(own, ({ replyKey }) => replyKey).values())
      this.#commit(rows.map(({ body }) => partText(body)).join("\n"));
  }

  /** True when the tool sent anything to the chat, even only a file. */
  get has(): boolean {
    return this.#has;
  }

  /** Called when a tool call begins. */
  begin({ callId, name, args }: RunEvent & { type: "tool_start" }): void {
    const { action = "send", message } = args;
    if (name !== MESSAGE_TOOL || action !== "send") return;
    this.#pending.set(callId, typeof message === "string" ? message : "");
    forgetOldest(this.#pending, MOST);
  }

  /** True when the call that ended may have sent something. */
  isOwn({ callId }: RunEvent & { type: "tool_end" }): boolean {
    return this.#pending.has(callId);
  }

  /**
   * Called when a tool call ends, with the turn's rows. Remembers the call's text if the text was sent to this chat.
   */
  end({ callId, isError }: RunEvent & { type: "tool_end" }, rows: readonly OutboxRow[]): void {
    const text = this.#pending.get(callId);
    this.#pending.delete(callId);
    const name = callKeyPrefix(this.#inboxId, callId);
    if (text === undefined || isError) return;
    if (rows.some((row) => row.replyKey.startsWith(name) && this.#arrives(row))) this.#commit(text);
  }

  /** True when the same text, or a text that contains it, was sent. A longer text is no repeat. */
  repeats(text: string): boolean {
    if (this.#sent.length === 0) return false;
    const words = normal(text);
    return (
      words !== "" && this.#sent.some((sent) => sent === words || (words.length >= LEAST_PART && sent.includes(words)))
    );
  }

  /** True while a text that is still being streamed may turn out to be a repeat. */
  mayRepeat(text: string): boolean {
    if (this.#sent.length === 0) return false;
    const words = normal(text);
    return this.#sent.some((sent) => sent.includes(words));
  }

  #arrives({ to, state }: OutboxRow): boolean {
    return state !== "failed" && isSameChat(to, this.#chat);
  }

  #commit(text: string): void {
    this.#has = true;
    const words = normal(text);
    if (words === "") return;
    this.#sent.push(words);
    if (this.#sent.length > MOST) this.#sent.shift();
  }
}

/** The text without case, blanks, punctuation and emoji. A text of only these is compared as it is. */
function normal(text: string): string {
  const words = text
    .normalize("NFKC")
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]/gu, "");
  return words === "" ? text.trim() : words;
}
