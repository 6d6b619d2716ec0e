import type { Clock } from "../../src/types/clock.ts";

export interface ManualClock extends Clock {
  /** Timers that are set, in milliseconds from now. */
  readonly waits: readonly number[];
  /** Moves the time forward and runs the timers that are due. */
  pass(ms: number): void;
}

/** A clock that moves only when the test moves it. */
export function manualClock(start = Date.UTC(2026, 10, 21)): ManualClock {
  let time = start;
  const timers = new Set<{ at: number; call: () => void }>();
  return {
    now: () => time,
    after(ms, call) {
      const timer = { at: time + ms, call };
      timers.add(timer);
      return () => timers.delete(timer);
    },
    get waits() {
      return [...timers].map((timer) => timer.at - time);
    },
    pass(ms) {
      time += ms;
      for (const timer of [...timers].filter(({ at }) => at <= time)) {
        timers.delete(timer);
        timer.call();
      }
    },
  };
}

/** The longest pause before another try that `src/harness/failover/policy.ts` makes of its own: what is longer is a time limit. */
const LONGEST_PAUSE_MS = 15_000;

/**
 * Real time for `now`. Pauses are kept and cut to a hundredth. Time limits are cut only where the test says so:
 * otherwise one would end on a busy machine what it does not end on an idle one.
 */
export function shortenedClock(cutUpTo = LONGEST_PAUSE_MS): Clock & { readonly waits: number[] } {
  const waits: number[] = [];
  return {
    waits,
    now: () => Date.now(),
    after(ms, call) {
      waits.push(ms);
      const timer = setTimeout(call, ms > cutUpTo ? ms : ms / 100);
      return () => clearTimeout(timer);
    },
  };
}
