import { partText } from "../../outbox/render.ts";
import { MESSAGE_TOOL, sentBy, sentByTool } from "../../tools/message/message-result.ts";
import type { RunEvent } from "../../types/run/events.ts";
import type { OutboxRow } from "../../types/journal.ts";
import type { Peer } from "../../types/chat/message.ts";
import { forgetOldest } from "../../utils/forget-oldest.ts";
import { isSameChat } from "../queue/same-chat.ts";

/** Texts and calls that are remembered; the oldest are forgotten beyond it. */
const MOST = 200;
/** Letters and digits; a shorter text is only a repeat of the very same one. */
const LEAST_PART = 10;

/** What the message tool said in the chat that is answered: nobody is to read it twice. */
export class SentTexts {
  readonly #inboxId: number;
  readonly #chat: Peer;
  readonly #pending = new Map<string, string>();
  readonly #sent: string[] = [];
  #has = false;

  /** `earlier`: rows of an earlier boot of the same turn. */
  constructor(inboxId: number, chat: Peer, earlier: readonly OutboxRow[]) {
    this.#inboxId = inboxId;
    this.#chat = chat;
    const own = earlier.filter((row) => row.replyKey.startsWith(sentByTool(inboxId)) && this.#arrives(row));
    for (const rows of Map.groupBy(own, ({ replyKey }) => replyKey).values())
      this.#commit(rows.map(({ body }) => partText(body)).join("\n"));
  }

  /** True when the chat got something from the tool, be it a file. */
  get has(): boolean {
    return this.#has;
  }

  /** A call begins. */
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

  /** Keeps what a call sent to this chat, by the turn's rows of now; a call that failed said nothing. */
  end({ callId, isError }: RunEvent & { type: "tool_end" }, rows: readonly OutboxRow[]): void {
    const text = this.#pending.get(callId);
    this.#pending.delete(callId);
    const name = sentBy(this.#inboxId, callId);
    if (text === undefined || isError) return;
    if (rows.some((row) => row.replyKey.startsWith(name) && this.#arrives(row))) this.#commit(text);
  }

  /** The same words, or a part of them, were sent already. Words that say more are no repeat. */
  repeats(text: string): boolean {
    const words = normal(text);
    return (
      words !== "" && this.#sent.some((sent) => sent === words || (words.length >= LEAST_PART && sent.includes(words)))
    );
  }

  /** As far as it goes, a growing text may become a repeat. */
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

/** Without case, blanks, punctuation and emoji; a text of these alone is compared as it is. */
function normal(text: string): string {
  const words = text
    .normalize("NFKC")
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]/gu, "");
  return words === "" ? text.trim() : words;
}
