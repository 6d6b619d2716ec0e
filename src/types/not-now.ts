/** Not available now, but perhaps later: the network, a limit, an outage. Its message is for people and contains no secret. */
export class NotNow extends Error {
  override readonly name = "NotNow";
  /** Milliseconds that the other side asks to be left alone for. */
  readonly afterMs: number | undefined;
  /** What the operator can check in the meantime, one sentence. */
  readonly fix: string | undefined;

  constructor(message: string, more: { afterMs?: number | undefined; fix?: string; cause?: unknown } = {}) {
    super(message, more.cause === undefined ? undefined : { cause: more.cause });
    this.afterMs = more.afterMs;
    this.fix = more.fix;
  }
}
