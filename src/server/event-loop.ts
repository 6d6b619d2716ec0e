import { monitorEventLoopDelay, performance } from "node:perf_hooks";

/** How well the process keeps up. Delays are milliseconds, over the last minute or so. */
export interface EventLoopHealth {
  readonly degraded: boolean;
  readonly delayP99Ms: number;
  readonly delayMaxMs: number;
  /** Share of the process's lifetime in which the event loop was busy. */
  readonly utilization: number;
}

/** Each tick wakes the process, so a short one would cost an idle gateway most of its processor time. */
const RESOLUTION_MS = 200;
const WINDOW_MS = 60_000;
/** People notice a delay of this length. */
const SLOW_MS = 250;

/** Measures the delay of the event loop until the signal aborts. Does not keep the process alive. */
export function watchEventLoop(signal: AbortSignal): () => EventLoopHealth {
  const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delays.enable();
  signal.addEventListener("abort", () => delays.disable(), { once: true });
  let since = performance.now();
  return () => {
    const delayP99Ms = lateBy(delays.percentile(99));
    const delayMaxMs = lateBy(delays.max);
    if (performance.now() - since > WINDOW_MS) {
      delays.reset();
      since = performance.now();
    }
    const utilization = rounded(performance.eventLoopUtilization().utilization, 1000);
    return { degraded: utilization > 0.95 || delayP99Ms > SLOW_MS, delayP99Ms, delayMaxMs, utilization };
  };
}

/** A sample is the nanoseconds between two ticks, including the wanted pause. Without samples the values are not finite. */
function lateBy(nanoseconds: number): number {
  const late = nanoseconds / 1e6 - RESOLUTION_MS;
  return Number.isFinite(late) ? rounded(Math.max(0, late), 10) : 0;
}

const rounded = (value: number, parts: number): number => Math.round(value * parts) / parts;
