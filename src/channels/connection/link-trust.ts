/** A sign of life this long after the first one proves that the link works, not only its opening. */
const PROVEN_AFTER_MS = 20_000;

/**
 * Tells a link that receives from one that was merely opened: a platform may accept every connection and then stay silent. After a
 * link was silent, or broke off with only its first sign of life, the next one is trusted only after a later sign.
 */
export class LinkTrust {
  #isSuspect = false;
  #isProven = false;
  /** When this connection gave its first sign of life. */
  #openedAt: number | undefined;

  /** Records a sign of life. `isFirst`: the first of this connection. */
  sign(now: number): { readonly isTrusted: boolean; readonly isFirst: boolean } {
    const isFirst = this.#openedAt === undefined;
    this.#openedAt ??= now;
    if (now - this.#openedAt >= PROVEN_AFTER_MS) {
      this.#isProven = true;
      this.#isSuspect = false;
    }
    return { isTrusted: !this.#isSuspect, isFirst };
  }

  /** The connection has given a sign of life. */
  get isOpen(): boolean {
    return this.#openedAt !== undefined;
  }

  /** The connection ended and will be opened again, by us or by its adapter. One that broke off at once does not count as silent. */
  ended(now: number, hasStalled = false): void {
    const wasSilent = !this.#isProven && now - (this.#openedAt ?? now) >= PROVEN_AFTER_MS;
    this.#isSuspect ||= hasStalled || wasSilent;
    this.#isProven = false;
    this.#openedAt = undefined;
  }
}
