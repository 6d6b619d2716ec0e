// node profile.mjs [MESSAGES (2000)]   Where the processor time and the allocations of one message go, under 50 senders: by thread, by
// module, by folder and by function. Needs the source maps of `node scripts/build.mjs`. Runs the gateway twice, once for each kind of profile.
import fs from "node:fs";
import path from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";
import * as L from "../lib.mjs";
import { cpuTree, heapTree, sums } from "./sums.mjs";
import { print, printCollections, printSums, printThreads } from "./tables.mjs";

const SENDERS = 50;
const messages = Math.ceil(+(process.argv[2] ?? 2000) / SENDERS) * SENDERS;
const recorder = pathToFileURL(path.join(import.meta.dirname, "recorder.mjs")).href;

async function fileAppears(file, timeoutMs = 120_000) {
  for (const end = Date.now() + timeoutMs; Date.now() < end; await L.sleep(50)) if (fs.existsSync(file)) return;
  throw new Error(`${file} was not written within ${timeoutMs} ms`);
}

/** The profile of the messages, the collector's pauses, and what each kind of thread used. */
async function record(kind) {
  const file = path.join(L.ROOT, `${kind}.profile.json`);
  for (const old of [file, `${file}.begun`]) fs.rmSync(old, { force: true });
  process.env.PROFILE_FILE = file;
  process.env.PROFILE_KIND = kind;
  L.mkConfig();
  const gateway = await L.startGateway({ nodeArgs: `--import ${recorder}` });
  const { pid } = gateway.child;
  await L.closedLoop(SENDERS, 5);
  process.kill(pid, "SIGUSR2");
  await fileAppears(`${file}.begun`);
  const before = L.threads(pid);
  await L.closedLoop(SENDERS, messages / SENDERS);
  const used = L.usedBetween(before, L.threads(pid));
  process.kill(pid, "SIGUSR2");
  await fileAppears(file);
  await L.stopGateway(gateway);
  return { ...JSON.parse(fs.readFileSync(file, "utf8")), used };
}

const perMessage = (sum, digits) => (sum / messages).toFixed(digits);

async function processorTime() {
  const { profile, collections, used } = await record("cpu");
  const found = sums(cpuTree(profile));
  console.log(`${messages} messages of ${SENDERS} senders`);
  printThreads(used, perMessage);
  printCollections(collections, perMessage);
  const sampled = perMessage(found.total / 1000, 2);
  console.log(
    `\nThe next tables divide the ${sampled} ms in which the main thread did not wait for events. It did wait for a core.`,
  );
  printSums("ms a message", found, (us) => perMessage(us / 1000, 3));
}

async function allocations() {
  const { profile } = await record("heap");
  const found = sums(heapTree(profile));
  const kib = (bytes) => perMessage(bytes / 1024, 1);
  console.log(`\nAllocated on V8's heap: ${kib(found.total)} KiB a message; buffers outside of the heap do not count.`);
  printSums("KiB a message", found, kib);
}

await L.startFakes();
try {
  await processorTime();
  await allocations();
} finally {
  L.stopAll();
}
process.exit(0);
