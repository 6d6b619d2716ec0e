// node jobs.mjs [JOBS (1000)] [SESSIONS (10000)] [SECONDS (60)]   A gateway with many jobs, none of which is due, and many sessions: processor
// time and writes while nothing happens, and how long a list of all jobs takes.
import fs from "node:fs";
import path from "node:path";
import process from "node:process";
import * as L from "../lib.mjs";
import { fillState, TEMPLATE_CHAT } from "../kit/large-state.mjs";
import { call } from "../../test/kit/gateway/rpc.ts";

const [jobs, sessions, seconds] = [2, 3, 4].map((at, index) => +(process.argv[at] ?? [1000, 10_000, 60][index]));
const LISTS = 21;
const SETTLED_MS = 10_000;
const rpc = (method, params) => call({ port: L.PORT, token: L.TOKEN }, method, params);

/** Each at its own minute of a month of next year, so that none is due. */
const jobAt = (n) => ({
  name: `job ${n}`,
  schedule: { kind: "cron", expr: `${n % 60} ${Math.floor(n / 60) % 24} 1 1 *`, tz: "Europe/Berlin" },
  payload: { kind: "agentTurn", message: "Is there anything new?" },
  delivery: { mode: "none" },
});

/** Bytes that a process wrote to files. */
function written(pid) {
  const text = fs.readFileSync(`/proc/${pid}/io`, "utf8");
  return Number(/^write_bytes: (\d+)/m.exec(text)?.[1]);
}

/** The gateway removes old messages once, a minute after its start. */
async function cleanedUp() {
  const log = path.join(L.ROOT, "gateway.log");
  while (!fs.readFileSync(log, "utf8").includes('"msg":"cleared away"')) await L.sleep(200);
  await L.sleep(SETTLED_MS);
}

async function listMs() {
  const times = [];
  for (let n = 0; n < LISTS; n++) {
    const begun = performance.now();
    const { jobs: listed } = await rpc("cron.list", { enabled: "all", limit: 200 });
    if (listed.length === 0) throw new Error("no jobs are listed");
    times.push(performance.now() - begun);
  }
  return times.sort((a, b) => a - b)[Math.floor(LISTS / 2)];
}

L.mkConfig();
await L.startFakes();
try {
  const first = await L.startGateway();
  await L.roundTrip(TEMPLATE_CHAT);
  for (let n = 0; n < jobs; n++) await rpc("cron.add", jobAt(n));
  await L.stopGateway(first);
  fillState({ messages: sessions, sessions });
  fs.rmSync(path.join(L.ROOT, "gateway.log"));
  const gateway = await L.startGateway();
  const { pid } = gateway.child;
  await cleanedUp();
  const before = { bytes: written(pid), used: L.threads(pid) };
  await L.sleep(seconds * 1000);
  const used = L.usedBetween(before.used, L.threads(pid));
  const cpuPercent = used.reduce((total, { cpuMs }) => total + cpuMs, 0) / seconds / 10;
  const bytes = written(pid) - before.bytes;
  L.save("jobs", { jobs, sessions, seconds, cpuPercent, bytes, listMs: await listMs(), rssMiB: L.mem(pid).rssMiB });
  await L.stopGateway(gateway);
} finally {
  await L.stopAll();
}
process.exit(0);
