export type AbortCause = "user" | "timeout" | "shutdown";

/** Stops a run; the first cause counts. */
export class StopSwitch {
  /** Why the run was stopped; `user` while it was not. */
  cause: AbortCause = "user";
  readonly #controller = new AbortController();

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get isOn(): boolean {
    return this.#controller.signal.aborted;
  }

  stop(by: AbortCause): void {
    if (this.isOn) return;
    this.cause = by;
    this.#controller.abort();
  }
}
