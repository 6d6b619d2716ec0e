// node profile.mjs [LOAD (senders|sender|streams)] [MESSAGES (2000)]   Where the processor time and the allocations of one message go, or those of
// the tokens of open streams: by thread, by module, by folder and by function. Needs the source maps of `node scripts/build.mjs`. Runs the
// gateway three times, once for each kind of profile.
import fs from "node:fs";
import path from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";
import * as L from "../lib.mjs";
import { LOADS } from "./loads.mjs";
import { cpuTree, heapTree, sums } from "./sums.mjs";
import { printCollections, printSums, printThreads } from "./tables.mjs";

const load = LOADS[process.argv[2] ?? "senders"](+(process.argv[3] ?? 2000));
const recorder = pathToFileURL(path.join(import.meta.dirname, "recorder.mjs")).href;

async function fileAppears(file, timeoutMs = 120_000) {
  for (const end = Date.now() + timeoutMs; Date.now() < end; await L.sleep(50)) if (fs.existsSync(file)) return;
  throw new Error(`${file} was not written within ${timeoutMs} ms`);
}

/** The profile of the load, by how many units to divide it, the collector's pauses, and what each kind of thread used. */
async function record(kind) {
  const file = path.join(L.ROOT, `${kind}.profile.json`);
  for (const old of [file, `${file}.begun`]) fs.rmSync(old, { force: true });
  process.env.PROFILE_FILE = file;
  process.env.PROFILE_KIND = kind;
  L.mkConfig();
  await L.startFakes();
  const gateway = await L.startGateway({ nodeArgs: `--import ${recorder}` });
  try {
    const { pid } = gateway.child;
    await load.warm();
    process.kill(pid, "SIGUSR2");
    await fileAppears(`${file}.begun`);
    const before = L.threads(pid);
    const units = await load.run();
    const used = L.usedBetween(before, L.threads(pid));
    process.kill(pid, "SIGUSR2");
    await fileAppears(file);
    return { ...JSON.parse(fs.readFileSync(file, "utf8")), units, used };
  } finally {
    await L.stopAll();
  }
}

async function processorTime() {
  const { profile, collections, units, used } = await record("cpu");
  const found = sums(cpuTree(profile));
  const each = (sum, digits) => (sum / units).toFixed(digits);
  console.log(load.title);
  printThreads(`ms a ${load.unit}`, used, each);
  printCollections(`ms a ${load.unit}`, collections, each);
  const sampled = each(found.total / 1000, 2);
  console.log(
    `\nThe next tables divide the ${sampled} ms in which the main thread did not wait for events. It did wait for a core.`,
  );
  printSums(`ms a ${load.unit}`, found, (us) => each(us / 1000, 3));
}

async function allocations(kind, what) {
  const { profile, units } = await record(kind);
  const found = sums(heapTree(profile));
  const kib = (bytes) => (bytes / 1024 / units).toFixed(1);
  console.log(`\n${what}: ${kib(found.total)} KiB a ${load.unit}; buffers outside of the heap do not count.`);
  printSums(`KiB a ${load.unit}`, found, kib);
}

try {
  await processorTime();
  await allocations("heap", "Allocated on V8's heap");
  await allocations("old", "Of this, not freed by a collection of the young objects");
} finally {
  await L.stopAll();
}
process.exit(0);
