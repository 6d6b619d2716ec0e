import { BoundedMap } from "openclaw/plugin-sdk";

/**
 * The apps silently drop an edit after 100 revisions of one message or 48 hours after it (Signal-iOS, EditManagerImpl
 * `maxReceiveEdits`, `editWindowMilliseconds`). Our limit is lower, because an edit that seemed lost may have arrived.
 */
const MOST_EDITS = 95;
const EDITABLE_MS = 48 * 3_600_000;
/** The edits of a preview; the others are left for the final answer. */
const MOST_PREVIEW_EDITS = 80;
/** The assumed edits of a message from an earlier connection, which may have been a complete preview. */
const ASSUMED_EDITS = 85;

/** Counts the edits of our messages. */
export class Edits {
  readonly #counts = new BoundedMap<string, number>(1000);
  readonly #last = new BoundedMap<string, string>(100);

  /** Records a new message with this text. */
  sent(messageId: string, words: string): void {
    this.#counts.set(messageId, 0);
    this.#last.set(messageId, words);
  }

  /** Records an edit; without a text, it is unknown whether the edit arrived. */
  edited(messageId: string, words = ""): void {
    this.#counts.set(messageId, this.#done(messageId) + 1);
    this.#last.set(messageId, words);
  }

  /** True when the message already has this text. */
  isShown(messageId: string, words: string): boolean {
    return this.#last.get(messageId) === words;
  }

  /** Why the apps would not show another edit of a message with this timestamp; undefined when they would. */
  whyNot(timestamp: number): string | undefined {
    if (Date.now() - timestamp > EDITABLE_MS) return "Signal's apps show no edit of a message that old";
    const isSpent = this.#done(String(timestamp)) >= MOST_EDITS;
    return isSpent ? "Signal's apps show no more edits of this message" : undefined;
  }

  /** Whether a preview may still be edited. */
  allowsPreviewEdit(messageId: string): boolean {
    return this.#done(messageId) < MOST_PREVIEW_EDITS;
  }

  #done(messageId: string): number {
    return this.#counts.get(messageId) ?? ASSUMED_EDITS;
  }
}
