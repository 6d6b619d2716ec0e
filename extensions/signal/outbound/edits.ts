import { BoundedMap } from "openclaw/plugin-sdk";

/**
 * The apps drop what comes after 100 revisions of one message, or 48 hours behind it, and tell nobody (Signal-iOS,
 * EditManagerImpl `maxReceiveEdits`, `editWindowMilliseconds`). Some are kept back for edits that were lost on their way.
 */
const MOST_EDITS = 95;
const EDITABLE_MS = 48 * 3_600_000;
/** A preview takes no more, so that its final can still be an edit. */
const MOST_OF_PREVIEW = 80;
/** Taken as done where an earlier connection sent the message: few are left, in case it showed a preview to its end. */
const DONE_BEFORE = 85;

/** How often messages of ours were edited. */
export class Edits {
  readonly #counts = new BoundedMap<string, number>(1000);
  readonly #last = new BoundedMap<string, string>(100);

  /** A new message that says this. */
  sent(messageId: string, words: string): void {
    this.#counts.set(messageId, 0);
    this.#last.set(messageId, words);
  }

  /** An edit; without words nobody knows whether it arrived. */
  edited(messageId: string, words = ""): void {
    this.#counts.set(messageId, this.#done(messageId) + 1);
    this.#last.set(messageId, words);
  }

  /** True when the message says just that already. */
  says(messageId: string, words: string): boolean {
    return this.#last.get(messageId) === words;
  }

  /** Why no app would show one more edit of a message with this timestamp; undefined when they would. */
  whyNot(timestamp: number): string | undefined {
    if (Date.now() - timestamp > EDITABLE_MS) return "Signal's apps take no edit of a message that old";
    const isSpent = this.#done(String(timestamp)) >= MOST_EDITS;
    return isSpent ? "Signal's apps take no more edits of one message" : undefined;
  }

  /** Whether a preview may still be edited. */
  fitsCaption(messageId: string): boolean {
    return this.#done(messageId) < MOST_OF_PREVIEW;
  }

  #done(messageId: string): number {
    return this.#counts.get(messageId) ?? DONE_BEFORE;
  }
}
