/**
 * The most UTF-16 units of one answer that a chat gets: some 25 full messages of Telegram, more than a person reads
 * there.
 */
const MOST_CHARS = 100_000;

/** Cuts an answer that is too long for its chat. The part that is left out stays in the transcript. */
export class ReplyLimit {
  #sent = 0;
  #leftOut = 0;

  /** The part of the next text that the chat still gets; empty when it gets nothing more. */
  take(text: string): string {
    const left = Math.max(0, MOST_CHARS - this.#sent);
    const taken = text.length <= left ? text : text.slice(0, left).toWellFormed();
    this.#sent += taken.length;
    this.#leftOut += text.length - taken.length;
    return taken;
  }

  /** The line for the chat about the part that is left out. Undefined when nothing was left out. */
  get note(): string | undefined {
    if (this.#leftOut === 0) return undefined;
    const left = this.#leftOut.toLocaleString("en");
    return `⚠️ This answer is too long for a chat: its last ${left} characters are left out here. Ask for them in parts.`;
  }
}
