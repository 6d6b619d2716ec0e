/** A sign of life this long after the first one of an opening shows that more than the opening works. */
const PROVEN_AFTER_MS = 20_000;

/**
 * Whether a link hears, or was merely opened: a platform may take every connection and say nothing on it. Who was found
 * deaf, or gave no sign but the first before it broke off, is believed only when one comes later than its opening.
 */
export class DeliveryGap {
  #isDoubted = false;
  #isProven = false;
  /** When this opening gave its first sign. */
  #openedAt: number | undefined;

  /** A sign of life. `isFirst`: the first of this opening. */
  sign(now: number): { readonly isBelieved: boolean; readonly isFirst: boolean } {
    const isFirst = this.#openedAt === undefined;
    this.#openedAt ??= now;
    if (now - this.#openedAt >= PROVEN_AFTER_MS) {
      this.#isProven = true;
      this.#isDoubted = false;
    }
    return { isBelieved: !this.#isDoubted, isFirst };
  }

  /** It gave a sign since it was opened. */
  get isOpen(): boolean {
    return this.#openedAt !== undefined;
  }

  /** It is opened anew, by us or by its adapter. One that broke off at once was not silent. */
  ended(now: number, isDeaf = false): void {
    const wasSilent = !this.#isProven && now - (this.#openedAt ?? now) >= PROVEN_AFTER_MS;
    this.#isDoubted ||= isDeaf || wasSilent;
    this.#isProven = false;
    this.#openedAt = undefined;
  }
}
