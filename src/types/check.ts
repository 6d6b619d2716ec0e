/** A line of `openclaw doctor`. */
export interface CheckResult {
  readonly status: "ok" | "warn" | "fail" | "skip";
  readonly message: string;
  /** The step that a person should take, in one sentence. */
  readonly fix?: string;
  /** The change that `--fix` makes after asking; `apply` changes nothing else. */
  readonly repair?: { readonly describe: string; apply(): Promise<void> };
}

/**
 * A check of `openclaw doctor`, of a module or of a contributor. The doctor runs all checks concurrently, each within five seconds
 * or its own `timeoutMs`. A `run` that throws is reported as a failure.
 */
export interface Check {
  readonly id: string;
  readonly title: string;
  /** Milliseconds; five seconds when unset. */
  readonly timeoutMs?: number;
  run(signal: AbortSignal): Promise<readonly CheckResult[]>;
}
