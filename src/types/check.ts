/** One line of `openclaw doctor`. */
export interface CheckResult {
  readonly status: "ok" | "warn" | "fail" | "skip";
  readonly message: string;
  /** What a person should do, one sentence. */
  readonly fix?: string;
  /** What `--fix` would do; only this is changed. */
  readonly repair?: { readonly describe: string; apply(): Promise<void> };
}

/** Rooms export their checks; `app/doctor` runs them side by side, each within two seconds or its own time. `run` may throw: told as a failure. */
export interface Check {
  readonly id: string;
  readonly title: string;
  /** Milliseconds that it may take, where two seconds are too few. */
  readonly timeoutMs?: number;
  run(signal: AbortSignal): Promise<readonly CheckResult[]>;
}
