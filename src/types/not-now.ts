/**
 * Reports that something is not available now, but perhaps later: the network, a limit, an outage. The message is for
 * people and contains no secret.
 */
export class NotNow extends Error {
  override readonly name = "NotNow";
  /** Milliseconds that the other side asks to be left alone for. */
  readonly afterMs: number | undefined;
  /** A check that the operator can make in the meantime, one sentence. */
  readonly fix: string | undefined;

  constructor(message: string, more: { afterMs?: number | undefined; fix?: string; cause?: unknown } = {}) {
    super(message, more.cause === undefined ? undefined : { cause: more.cause });
    this.afterMs = more.afterMs;
    this.fix = more.fix;
  }
}
