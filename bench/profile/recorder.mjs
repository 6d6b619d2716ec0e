// Loaded into the gateway with `--import`. Each SIGUSR2 begins or ends a recording; the end writes $PROFILE_FILE.
// PROFILE_KIND: "cpu" (samples of the call stack), "heap" (samples of allocations, those already collected included) or "old" (the same
// without those that a collection of the young objects freed).
// The file: { profile, collections: { <kind>: { count, ms } } }; the collections are pauses of the main thread.
import fs from "node:fs";
import inspector from "node:inspector/promises";
import { constants, PerformanceObserver } from "node:perf_hooks";
import process from "node:process";
import { isMainThread } from "node:worker_threads";
import { isReplaced } from "../kit/replaced.mjs";

const { PROFILE_FILE, PROFILE_KIND } = process.env;
const SAMPLE_EVERY_US = 1000;
const SAMPLE_EVERY_BYTES = 8192;

const allocations = (includeObjectsCollectedByMinorGC) => ({
  begin: (session) =>
    session.post("HeapProfiler.startSampling", {
      samplingInterval: SAMPLE_EVERY_BYTES,
      includeObjectsCollectedByMajorGC: true,
      includeObjectsCollectedByMinorGC,
    }),
  end: (session) => session.post("HeapProfiler.stopSampling"),
});

const KINDS = {
  cpu: {
    async begin(session) {
      await session.post("Profiler.enable");
      await session.post("Profiler.setSamplingInterval", { interval: SAMPLE_EVERY_US });
      await session.post("Profiler.start");
    },
    end: (session) => session.post("Profiler.stop"),
  },
  heap: allocations(true),
  old: allocations(false),
};

const COLLECTIONS = {
  [constants.NODE_PERFORMANCE_GC_MINOR]: "young objects",
  [constants.NODE_PERFORMANCE_GC_MAJOR]: "all objects",
  [constants.NODE_PERFORMANCE_GC_INCREMENTAL]: "a step of marking",
  [constants.NODE_PERFORMANCE_GC_WEAKCB]: "weak references",
};

/** Counts the pauses of the garbage collector from now on. */
function countCollections() {
  const sums = {};
  const observer = new PerformanceObserver((list) => {
    for (const { detail, duration } of list.getEntries()) {
      const sum = (sums[COLLECTIONS[detail.kind]] ??= { count: 0, ms: 0 });
      sum.count++;
      sum.ms += duration;
    }
  });
  observer.observe({ entryTypes: ["gc"] });
  return { sums, end: () => observer.disconnect() };
}

/** Written by a rename, so that whoever waits for the file finds it complete. */
function write(recording) {
  fs.writeFileSync(`${PROFILE_FILE}.part`, JSON.stringify(recording));
  fs.renameSync(`${PROFILE_FILE}.part`, PROFILE_FILE);
}

function record(kind) {
  let session;
  let collections;
  process.on("SIGUSR2", async () => {
    if (session) {
      const { profile } = await kind.end(session);
      collections.end();
      write({ profile, collections: collections.sums });
      session.disconnect();
      session = undefined;
      return;
    }
    session = new inspector.Session();
    session.connect();
    await kind.begin(session);
    collections = countCollections();
    fs.writeFileSync(`${PROFILE_FILE}.begun`, "");
  });
}

// Only this process: worker threads and child processes would read NODE_OPTIONS too.
if (isMainThread && !isReplaced) {
  delete process.env.NODE_OPTIONS;
  record(KINDS[PROFILE_KIND]);
}
