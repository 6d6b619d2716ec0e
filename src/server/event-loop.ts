import { createHistogram, performance, type RecordableHistogram } from "node:perf_hooks";

/** How well the process keeps up, over the last minute or so. Delays are milliseconds. */
export interface EventLoopHealth {
  readonly degraded: boolean;
  /** Milliseconds since it was first seen degraded; null while it is not. */
  readonly degradedSinceMs: number | null;
  /** Why it is degraded. */
  readonly reasons: readonly ("event_loop_delay" | "event_loop_utilization")[];
  /** Milliseconds that the other values are about. */
  readonly intervalMs: number;
  readonly delayP99Ms: number;
  readonly delayMaxMs: number;
  /** Share of the time in which the event loop was busy. */
  readonly utilization: number;
  /** Processor time of all threads by time: 1 is one core that is always busy. */
  readonly cpuCoreRatio: number;
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

/** A share of less time says nothing: a single request keeps the loop busy for all of a millisecond. */
const JUDGED_MS = 1000;

/** Measures the event loop until the signal aborts. Does not keep the process alive. */
export function watchEventLoop(signal: AbortSignal): () => EventLoopHealth {
  const delays = createHistogram();
  sample(delays, signal);
  let from = mark();
  let degradedAt: number | undefined;
  return () => {
    const load = loadSince(from);
    const [delayP99Ms, delayMaxMs] = [milliseconds(delays.percentile(99)), milliseconds(delays.max)];
    if (load.intervalMs > WINDOW_MS) {
      delays.reset();
      from = mark();
    }
    const reasons = [
      ...(delayP99Ms > SLOW_MS ? (["event_loop_delay"] as const) : []),
      ...(load.utilization > 0.95 && load.intervalMs >= JUDGED_MS ? (["event_loop_utilization"] as const) : []),
    ];
    const degraded = reasons.length > 0;
    degradedAt = degraded ? (degradedAt ?? performance.now()) : undefined;
    const degradedSinceMs = degradedAt === undefined ? null : Math.round(performance.now() - degradedAt);
    return { degraded, degradedSinceMs, reasons, ...load, delayP99Ms, delayMaxMs };
  };
}

const mark = () => ({ at: performance.now(), loop: performance.eventLoopUtilization(), cpu: process.cpuUsage() });

function loadSince({ at, loop, cpu }: ReturnType<typeof mark>) {
  const intervalMs = rounded(performance.now() - at, 10);
  const { user, system } = process.cpuUsage(cpu);
  return {
    intervalMs,
    utilization: rounded(performance.eventLoopUtilization(loop).utilization, 1000),
    cpuCoreRatio: rounded((user + system) / 1000 / Math.max(1, intervalMs), 1000),
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
