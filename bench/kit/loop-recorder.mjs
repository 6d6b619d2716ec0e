// Loaded into the gateway with `--import`. Each SIGUSR2 writes to $LOOP_DELAY_FILE how long the event loop was late since the one before.
import fs from "node:fs";
import { monitorEventLoopDelay } from "node:perf_hooks";
import process from "node:process";
import { isMainThread } from "node:worker_threads";
import { isReplaced } from "./replaced.mjs";

const RESOLUTION_MS = 1;
const BUSY_EVERY_MS = 4;

/** The most processor time that this thread took between two turns of a timer: what other programs of the machine take does not count. */
function busiest() {
  let most = 0;
  let before = process.threadCpuUsage();
  setInterval(() => {
    const now = process.threadCpuUsage();
    most = Math.max(most, (now.user + now.system - before.user - before.system) / 1000);
    before = now;
  }, BUSY_EVERY_MS).unref();
  return () => {
    const value = most;
    most = 0;
    return value;
  };
}

function record(file) {
  const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delays.enable();
  const busy = busiest();
  let reports = 0;
  process.on("SIGUSR2", () => {
    // A sample is the nanoseconds between two ticks, the wanted pause included.
    const late = (nanoseconds) => Math.max(0, nanoseconds / 1e6 - RESOLUTION_MS);
    const { count } = delays;
    const [p50, p99, max] = [delays.percentile(50), delays.percentile(99), delays.max].map(late);
    fs.writeFileSync(`${file}.part`, JSON.stringify({ report: ++reports, count, p50, p99, max, busy: busy() }));
    fs.renameSync(`${file}.part`, file);
    delays.reset();
  });
}

// Only this process: worker threads and child processes would read NODE_OPTIONS too.
if (isMainThread && !isReplaced) {
  delete process.env.NODE_OPTIONS;
  record(process.env.LOOP_DELAY_FILE);
}
