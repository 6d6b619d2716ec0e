import { createHook } from "node:async_hooks";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { BLOCKING_MS, type PluginWatch } from "../api/watch.ts";

/** Milliseconds between the measurements of the event loop, and between reads of the measurements. */
const RESOLUTION_MS = 100;
const LOOK_EVERY_MS = 5000;
/** How long callbacks are measured after a block that nobody could be named for, and the pause when nobody was found. */
const MEASURED_MS = 10 * 60_000;
const PAUSE_MS = 60 * 60_000;

/**
 * Names the plugin that blocks the event loop between calls, in code after an `await` or an answer of the system. The
 * callbacks of this process are measured only for a while after a block that no call and no timer explains, because
 * that costs half a microsecond for each: the first such block has no name, the next one has.
 */
export class EventLoopWatch {
  readonly #watch: PluginWatch;
  readonly #now: () => number;
  #measuring: (() => void) | undefined;
  #measuredUntil = 0;
  #pausedUntil = 0;

  constructor(watch: PluginWatch, now: () => number = () => performance.now()) {
    this.#watch = watch;
    this.#now = now;
  }

  /** Begins to watch; the returned function ends that. */
  follow(): () => void {
    const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
    delays.enable();
    let lookedAt = this.#now();
    const timer = setInterval(() => {
      const longestMs = delays.max / 1e6 - RESOLUTION_MS;
      delays.reset();
      if (longestMs >= BLOCKING_MS && this.#watch.blockedAt < lookedAt) this.suspect();
      lookedAt = this.#now();
      this.#endInTime();
    }, LOOK_EVERY_MS);
    timer.unref();
    return () => {
      clearInterval(timer);
      delays.disable();
      this.#stopMeasuring();
    };
  }

  /** Measures every callback for a while, because the event loop was blocked and the cause is not known. */
  suspect(): void {
    const now = this.#now();
    if (this.#measuring || now < this.#pausedUntil) return;
    let begun = 0;
    const hook = createHook({
      before: () => {
        begun = performance.now();
      },
      after: () => {
        const ms = performance.now() - begun;
        const code = ms >= BLOCKING_MS ? this.#watch.current : undefined;
        // A call or a timer within this callback may have been named already.
        if (!code || this.#watch.blockedAt >= begun) return;
        this.#watch.noteBusy(code, "a callback of its own", ms);
        this.#measuredUntil = this.#now() + MEASURED_MS;
      },
    });
    hook.enable();
    this.#measuring = () => hook.disable();
    this.#measuredUntil = now + MEASURED_MS;
  }

  #endInTime(): void {
    if (!this.#measuring || this.#now() < this.#measuredUntil) return;
    this.#stopMeasuring();
    this.#pausedUntil = this.#now() + PAUSE_MS;
  }

  #stopMeasuring(): void {
    this.#measuring?.();
    this.#measuring = undefined;
  }
}
