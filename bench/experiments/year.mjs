// node year.mjs [MESSAGES (1000000)] [MONTHS (12)]   A year of a busy gateway, one start a month, with the clock of that month: what a
// message costs, how long a start takes and how much there is on the disk, at the beginning and at the end. Each month half of the
// messages come from the same 50 people, the others from 50 new ones; the upkeep runs as it does every day.
import fs from "node:fs";
import path from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";
import * as L from "../lib.mjs";

const [messages, months] = [2, 3].map((at, index) => +(process.argv[at] ?? [1_000_000, 12][index]));
const SENDERS = 50;
const MONTH_MS = 30.4 * 24 * 3_600_000;
const clock = pathToFileURL(path.join(import.meta.dirname, "../kit/other-clock.mjs")).href;

/** MiB below a path, and the files. */
function sizeOf(place) {
  let bytes = 0;
  let files = 0;
  for (const entry of fs.readdirSync(place, { withFileTypes: true, recursive: true })) {
    if (!entry.isFile()) continue;
    bytes += fs.statSync(path.join(entry.parentPath, entry.name)).size;
    files += 1;
  }
  return { mib: bytes / 2 ** 20, files };
}

const upkeepIsDone = () =>
  fs.readdirSync(path.join(L.STATE, "logs")).some((name) => {
    const text = fs.readFileSync(path.join(L.STATE, "logs", name), "utf8");
    return /cleared away|upkeep/.test(text);
  });

async function month(at) {
  process.env.CLOCK_LATE_MS = String(Math.round((months - at) * MONTH_MS));
  process.env.TIMERS_FASTER = "6";
  await L.startFakes();
  const gateway = await L.startGateway({ nodeArgs: `--import ${clock}` });
  const { pid } = gateway.child;
  await L.roundTrip(5001);
  const each = Math.max(1, Math.round(messages / months / SENDERS / 2));
  const send = async (firstChat) =>
    L.timed(
      () => L.closedLoop(SENDERS, each, { firstChat }),
      () => L.cpu(pid),
    );
  const known = await send(6000);
  const fresh = await send(10_000 + at * SENDERS);
  await L.sleep(15_000);
  const row = {
    at,
    startMs: gateway.healthz,
    lost: [known, fresh].flatMap(({ rows }) => rows).filter((one) => !one.tReply).length,
    known: { ...known, rows: undefined },
    fresh: { ...fresh, rows: undefined },
    rssMiB: L.mem(pid).rssMiB,
    state: sizeOf(L.STATE),
    journalMiB: sizeOf(path.join(L.STATE, "state")).mib,
    upkeep: upkeepIsDone(),
  };
  await L.stopGateway(gateway);
  await L.stopAll();
  return row;
}

L.mkConfig({ session: { maintenance: { mode: "enforce" } } });
const rows = [];
try {
  for (let at = 0; at < months; at++) rows.push(await month(at));
  L.save("year", { messages, months, rows });
} finally {
  await L.stopAll();
}
process.exit(0);
