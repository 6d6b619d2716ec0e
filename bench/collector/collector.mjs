// node collector.mjs [MESSAGES (10000)] [SETTING...]   What settings of V8's garbage collector cost: each runs a gateway under 50 senders.
// A SETTING is a list of flags in one argument. Flags after "later:" are set while V8 runs, as bin/openclaw.mjs does it.
import path from "node:path";
import process from "node:process";
import { printColumns } from "../kit/figures.mjs";
import * as L from "../lib.mjs";

const messages = +(process.argv[2] ?? 10_000);
const SENDERS = 50;
const FIRST = 500;
const own = process.env.GW_CMD;

/** The gateway as it is started, with the settings of bin/openclaw.mjs. */
const OWN = "bin/openclaw.mjs";
const SETTINGS = [
  OWN,
  "default",
  "--optimize-for-size",
  "later: --optimize-for-size",
  "--max-lazy",
  ...[1, 2, 4, 8, 16].map((mib) => `--max-semi-space-size=${mib}`),
  "later: --heap-growing-percent=50",
  ...[2, 4, 8].map((mib) => `--max-semi-space-size=${mib} --heap-growing-percent=50`),
  ...[2, 4].map((mib) => `--max-semi-space-size=${mib} --heap-growing-percent=25`),
  "--max-semi-space-size=4 --heap-growing-percent=50 --max-lazy",
  "--max-semi-space-size=4 --single-threaded-gc",
];
const settings = process.argv.length > 3 ? process.argv.slice(3) : SETTINGS;

function commandOf(setting) {
  if (setting === OWN) return own;
  const [atStart, later = ""] = setting.split("later:");
  const flags = atStart.split(" ").filter((flag) => flag.startsWith("--"));
  process.env.LATER_FLAGS = later.trim();
  return [process.execPath, ...flags, path.join(import.meta.dirname, "start.mjs"), "gateway run --port {port}"].join(
    " ",
  );
}

async function measure(setting) {
  process.env.GW_CMD = commandOf(setting);
  L.mkConfig();
  await L.startFakes();
  const gateway = await L.startGateway();
  const { pid } = gateway.child;
  try {
    await L.sleep(3000);
    await L.roundTrip(5001);
    const begun = { cpu: L.cpu(pid), at: performance.now() };
    await L.closedLoop(SENDERS, FIRST / SENDERS);
    const early = L.mem(pid).rssMiB;
    await L.closedLoop(SENDERS, (messages - FIRST) / SENDERS);
    const late = L.mem(pid).rssMiB;
    const cpuMs = ((L.cpu(pid) - begun.cpu) * 1000) / messages;
    return { cpuMs, perSecond: (messages / (performance.now() - begun.at)) * 1000, early, late };
  } finally {
    await L.stopGateway(gateway);
    await L.stopAll();
  }
}

const table = [["setting", "CPU a message, ms", "messages/s", `MiB after ${FIRST}`, `MiB after ${messages}`]];
for (const setting of settings) {
  const { cpuMs, perSecond, early, late } = await measure(setting);
  table.push([setting, cpuMs.toFixed(2), perSecond.toFixed(0), early.toFixed(0), late.toFixed(0)]);
  console.error(table.at(-1).join("  "));
}
printColumns(table, [1, 2, 3, 4]);
process.exit(0);
