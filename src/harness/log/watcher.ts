import type { DeltaPace, RunEvent } from "../../types/run/events.ts";

/** One watcher of a run's events: waits for the next event, and for the time of the next delta. */
export class Watcher {
  readonly #pace: DeltaPace | undefined;
  #wake: (() => void) | undefined;
  /** Whether deltas came while this watcher rested. */
  #isBehind = false;
  #cancelRest: (() => void) | undefined;
  readonly #ignoreWishes: (() => void) | undefined;

  constructor(pace: DeltaPace | undefined) {
    this.#pace = pace;
    this.#ignoreWishes = pace?.onWanted?.(() => this.#endRest(true));
  }

  /** True from the time at which a delta was given until the next delta may be given. */
  get rests(): boolean {
    return this.#cancelRest !== undefined;
  }

  get isPaced(): boolean {
    return this.#pace !== undefined;
  }

  /** Resolves when there is an event to be given. */
  wait(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  /** Called when an event has come. */
  notify(event: RunEvent): void {
    if (!this.#pace || !isDelta(event)) return this.#wakeUp();
    if (this.rests && this.#isUrgent(event)) return this.#endRest(true);
    if (this.rests) this.#isBehind = true;
    else if (this.#pace.everyMs(lengthOf(event)) !== undefined) this.#wakeUp();
  }

  /** Called when the event has been given. After a delta, the next delta has to wait. */
  given(event: RunEvent): void {
    if (!this.#pace || !isDelta(event)) return;
    const ms = this.#pace.everyMs(lengthOf(event));
    if (ms === undefined) return;
    this.#cancelRest?.();
    this.#isBehind = false;
    this.#cancelRest = this.#pace.clock.after(ms, () => this.#endRest(this.#isBehind));
  }

  close(): void {
    this.#ignoreWishes?.();
    this.#cancelRest?.();
  }

  #isUrgent(event: Delta): boolean {
    return event.type === "text_delta" && this.#pace?.isUrgent?.(event.delta, event.text) === true;
  }

  #endRest(isBehind: boolean): void {
    this.#cancelRest?.();
    this.#cancelRest = undefined;
    if (isBehind) this.#wakeUp();
  }

  #wakeUp(): void {
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  }
}

type Delta = RunEvent & { readonly type: "text_delta" | "thinking_delta" };

export const isDelta = (event: RunEvent): event is Delta =>
  event.type === "text_delta" || event.type === "thinking_delta";

const lengthOf = (event: Delta): number => (event.type === "text_delta" ? event.text.length : event.delta.length);
