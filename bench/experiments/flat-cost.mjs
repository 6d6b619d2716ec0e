// node flat-cost.mjs [MESSAGES (300000)] [SESSIONS (10000)]   How long single calls occupy the event loop when the journal and the list of
// sessions are large. The cleanup of old rows begins a minute after the start and removes a third of the messages.
import fs from "node:fs";
import path from "node:path";
import process from "node:process";
import * as L from "../lib.mjs";
import { fillState, TEMPLATE_CHAT } from "../kit/large-state.mjs";
import { startWithLoopDelay } from "../kit/loop-delay.mjs";
import { call } from "../../test/kit/gateway/rpc.ts";

const [messages, sessions] = [2, 3].map((at, index) => +(process.argv[at] ?? [300_000, 10_000][index]));
const REPEATS = 7;
const SETTLED_MS = 15_000;
const QUIET_MS = 5000;
const CLEANUP_MS = 60_000;
const REMOVES = messages / 3;

const rpc = (method, params) => () => call({ port: L.PORT, token: L.TOKEN }, method, params);

const CALLS = {
  "/metrics": () => L.httpJson(`http://127.0.0.1:${L.PORT}/metrics`),
  "/healthz": () => L.httpJson(`http://127.0.0.1:${L.PORT}/healthz`),
  status: rpc("status"),
  health: rpc("health"),
  "sessions.list, all": rpc("sessions.list"),
  "sessions.list, 50": rpc("sessions.list", { limit: 50 }),
  "sessions.list, search": rpc("sessions.list", { search: "200000777", limit: 50 }),
  "a heartbeat with its chat chosen": rpc("wake", { mode: "now" }),
  "a message of a known chat": () => L.roundTrip(200_000_001),
  "a message of a new chat": () => L.roundTrip(300_000_000 + Math.floor(performance.now())),
};

/**
 * The least of several calls: how long the event loop was late at most during the call, and the time until the answer. What the call
 * itself causes happens each time; what other programs of the machine cause does not.
 */
async function costOf(since, work) {
  const rows = [];
  for (let n = 0; n < REPEATS; n++) {
    await since();
    const begun = L.nowNs();
    await work();
    const wallMs = L.ms(begun, L.nowNs());
    rows.push({ wallMs, loopMs: (await since()).max });
    await L.sleep(200);
  }
  const least = (pick) => Math.min(...rows.map(pick));
  return { loopMs: least((row) => row.loopMs), wallMs: least((row) => row.wallMs) };
}

/** Waits for the line of the log that counts what the cleanup removed. */
async function cleanup(since, startedAt) {
  const log = path.join(L.ROOT, "gateway.log");
  const isDone = () => fs.readFileSync(log, "utf8").includes('"msg":"cleared away"');
  await L.sleep(Math.max(0, CLEANUP_MS - 500 - (performance.now() - startedAt)));
  if (isDone()) throw new Error("the cleanup was over before it was measured");
  await since();
  const begun = performance.now();
  while (!isDone()) await L.sleep(100);
  const wallMs = performance.now() - begun;
  const { max, p99 } = await since();
  return { name: `cleanup of ${REMOVES} messages`, loopMs: max, p99Ms: p99, wallMs };
}

// An owner who never wrote, so that the choice of a heartbeat's chat finds nobody among all sessions.
const commands = { ownerAllowFrom: ["telegram:1"] };
L.mkConfig({ agents: { defaults: { heartbeat: { every: "24h", target: "last" } } }, commands });
await L.startFakes();
try {
  const first = await L.startGateway();
  await L.roundTrip(TEMPLATE_CHAT);
  await L.stopGateway(first);
  fillState({ messages, sessions });
  fs.rmSync(path.join(L.ROOT, "gateway.log"));
  const startedAt = performance.now();
  const { gateway, pid, since } = await startWithLoopDelay();
  await L.sleep(SETTLED_MS);
  const rssMiB = L.mem(pid).rssMiB;
  const quiet = await costOf(since, () => L.sleep(100));
  await L.sleep(QUIET_MS);
  const quietLong = await since();
  const calls = [];
  for (const [name, work] of Object.entries(CALLS)) {
    const { loopMs, wallMs } = await costOf(since, work);
    calls.push({ name, wallMs, loopMs: Math.max(0, loopMs - quiet.loopMs) });
  }
  calls.push(await cleanup(since, startedAt));
  L.save("flat", { messages, sessions, healthz: gateway.healthz, rssMiB, quietMs: quietLong.max, calls });
  await L.stopGateway(gateway);
} finally {
  await L.stopAll();
}
process.exit(0);
