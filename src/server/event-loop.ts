import { createHistogram, performance, type RecordableHistogram } from "node:perf_hooks";

/** How well the process keeps up. Delays are milliseconds, over the last minute or so. */
export interface EventLoopHealth {
  readonly degraded: boolean;
  readonly delayP99Ms: number;
  readonly delayMaxMs: number;
  /** Share of the process's lifetime in which the event loop was busy. */
  readonly utilization: number;
}

/** Milliseconds between two samples of a loop that has work, and of one that mostly waits: each sample wakes the process. */
const BUSY_MS = 200;
const IDLE_MS = 1000;
/** A loop that is busy for less than this share of the time waits; so does one with a single short piece of work. */
const IDLE_SHARE = 0.02;
const WINDOW_MS = 60_000;
/** People notice a delay of this length. */
const SLOW_MS = 250;
/** The histogram takes whole numbers from one on. */
const NONE = 1;

/** Measures the delay of the event loop until the signal aborts. Does not keep the process alive. */
export function watchEventLoop(signal: AbortSignal): () => EventLoopHealth {
  const delays = createHistogram();
  sample(delays, signal);
  let since = performance.now();
  return () => {
    const [delayP99Ms, delayMaxMs] = [milliseconds(delays.percentile(99)), milliseconds(delays.max)];
    if (performance.now() - since > WINDOW_MS) {
      delays.reset();
      since = performance.now();
    }
    const utilization = rounded(performance.eventLoopUtilization().utilization, 1000);
    return { degraded: utilization > 0.95 || delayP99Ms > SLOW_MS, delayP99Ms, delayMaxMs, utilization };
  };
}

/** Records, in microseconds, by how much later than wanted a timer goes off, again and again. */
function sample(delays: RecordableHistogram, signal: AbortSignal, wantedMs = BUSY_MS): void {
  const begun = performance.now();
  const before = performance.eventLoopUtilization();
  const timer = setTimeout(() => {
    signal.removeEventListener("abort", stop);
    // A sample of a loop that waits stands for as many as a busy one has in that time.
    for (let ms = BUSY_MS; ms < wantedMs; ms += BUSY_MS) delays.record(NONE);
    delays.record(Math.max(NONE, Math.round((performance.now() - begun - wantedMs) * 1000)));
    const { utilization } = performance.eventLoopUtilization(before);
    sample(delays, signal, utilization < IDLE_SHARE ? IDLE_MS : BUSY_MS);
  }, wantedMs).unref();
  const stop = (): void => clearTimeout(timer);
  signal.addEventListener("abort", stop, { once: true });
}

const milliseconds = (microseconds: number): number => rounded(Math.max(0, microseconds - NONE) / 1000, 10);

const rounded = (value: number, parts: number): number => Math.round(value * parts) / parts;
