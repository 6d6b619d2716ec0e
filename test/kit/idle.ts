import { createHook } from "node:async_hooks";
import { type Clock, systemClock } from "../../src/types/clock.ts";

/** What may stay open while nothing happens. Whatever else the process has open is work under way. */
const RESTING =
  /^(Timeout|TCP(Server|Socket)Wrap|Pipe(Server)?Wrap|PIPEWRAP|TTYWrap|MessagePort|FSEvent\w*|SignalWrap)$/i;
/** Turns of the event loop in which nothing happens; each of them polls every socket of the process. */
const IDLE_TURNS = 4;
/** Milliseconds: a timer of the real clock that is due within this time counts as work under way. */
const SOON_MS = 50;
const PATIENCE_MS = 20_000;

const soon = new Set<symbol>();

/** The real clock, for a gateway whose short timers `untilIdle` waits for. */
export const watchedClock: Clock = {
  now: () => systemClock.now(),
  after(ms, call) {
    const timer = Symbol("timer");
    if (ms <= SOON_MS) soon.add(timer);
    const cancel = systemClock.after(ms, () => {
      soon.delete(timer);
      call();
    });
    return () => {
      soon.delete(timer);
      cancel();
    };
  },
};

const underWay = (): readonly string[] => [
  ...process.getActiveResourcesInfo().filter((kind) => kind !== "Immediate" && !RESTING.test(kind)),
  ...Array.from(soon, () => "short timer"),
];

/**
 * Resolves when the process does nothing more by itself: no request to a file, a name server or another process is open, no
 * short timer of `watchedClock` runs, and for some turns of the event loop no code has run at all. What is left then waits for a
 * clock, for a promise of the test, or for another program. Rejects after 20 s, with what is under way.
 */
export function untilIdle(): Promise<void> {
  const end = performance.now() + PATIENCE_MS;
  let begun = 0;
  const hook = createHook({ init: () => (begun += 1) });
  return new Promise((resolve, reject) => {
    let idle = 0;
    const look = () => {
      // Code that runs creates promises, ticks or timers.
      idle = begun === 0 && underWay().length === 0 ? idle + 1 : 0;
      if (idle >= IDLE_TURNS || performance.now() > end) {
        hook.disable();
        if (idle >= IDLE_TURNS) resolve();
        else reject(new Error(`never idle: ${underWay().join(", ") || "some code keeps running"}`));
        return;
      }
      setImmediate(look);
      begun = 0;
    };
    hook.enable();
    setImmediate(look);
  });
}
