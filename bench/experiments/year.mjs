// node year.mjs [MESSAGES (120000)] [MONTHS (12)]   A year of a busy gateway: each month is one start with the clock of that month, 40 people who write every
// month, and new ones who write four messages and never again. What the state takes, how long a start takes, and what a message costs.
// env: WINDOW (30000) tokens of the model   CONFIG_PATCH, such as {"session":{"maintenance":{"mode":"enforce"}}}
import fs from "node:fs";
import path from "node:path";
import process from "node:process";
import * as L from "../lib.mjs";

const [messages, months] = [2, 3].map((at, index) => +(process.argv[at] ?? [120_000, 12][index]));
const MONTH_MS = 30 * 24 * 3_600_000;
const STEADY = 40;
const ONCE_EACH = 4;
/** Of all messages, those of people who write once. */
const ONCE_SHARE = 0.2;
/** The gateway looks at what has become old a minute after its start. */
const UPKEEP_MS = 75_000;
const CLOCK = path.join(import.meta.dirname, "../../test/kit/gateway/late-clock.mjs");

const filesOf = (folder) =>
  fs
    .readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name));

/** Gives what was written since `from` the time of its month: the disk has no other clock. */
function age(from, late) {
  for (const file of filesOf(L.STATE)) {
    const { mtimeMs } = fs.statSync(file);
    if (mtimeMs >= from) fs.utimesSync(file, (mtimeMs - late) / 1000, (mtimeMs - late) / 1000);
  }
}

/** MiB below each folder of the state directory, and in its files. */
function sizes() {
  const sums = {};
  const files = filesOf(L.STATE);
  for (const file of files) {
    const [name] = path.relative(L.STATE, file).split(path.sep);
    sums[name] = (sums[name] ?? 0) + fs.statSync(file).size / 2 ** 20;
  }
  return {
    files: files.length,
    MiB: Object.fromEntries(Object.entries(sums).map(([name, size]) => [name, L.r1(size)])),
  };
}

async function month(number) {
  const late = (months - number) * MONTH_MS;
  const from = Date.now();
  process.env.CLOCK_LATE_MS = String(late);
  await L.tg("clock", { late });
  const gateway = await L.startGateway({ nodeArgs: `--import=${CLOCK}` });
  const begun = performance.now();
  const { pid } = gateway.child;
  const each = Math.round(messages / months);
  const once = Math.round((each * ONCE_SHARE) / ONCE_EACH / STEADY);
  const { rows, ...speed } = await L.timed(
    async () => {
      const steady = L.closedLoop(STEADY, Math.round((each * (1 - ONCE_SHARE)) / STEADY));
      const others = [];
      for (let n = 0; n < once; n++)
        others.push(...(await L.closedLoop(STEADY, ONCE_EACH, { firstChat: 1_000_000 * number + n * STEADY })));
      return [...(await steady), ...others];
    },
    () => L.cpu(pid),
  );
  await L.sleep(Math.max(0, UPKEEP_MS - (performance.now() - begun)));
  const { rssMiB } = L.mem(pid);
  const stopMs = await L.stopGateway(gateway);
  age(from, late);
  await L.tg("reset", { updates: 1 });
  await L.llm("reset", {});
  const lost = rows.filter((row) => !row.tReply).length;
  const { healthz, poll } = gateway;
  return { number, count: rows.length, lost, healthz, poll, rssMiB, stopMs, ...speed, ...sizes() };
}

L.mkConfig({
  models: { providers: { fake: { models: [{ ...L.fakeModel(), contextWindow: +(process.env.WINDOW ?? 30_000) }] } } },
});
await L.startFakes();
const rows = [];
try {
  for (let number = 1; number <= months; number++) {
    rows.push(await month(number));
    console.log(JSON.stringify(rows.at(-1)));
  }
  L.save("year", { messages, months, rows });
} finally {
  await L.stopAll();
}
process.exit(rows.every(({ lost }) => lost === 0) && rows.length === months ? 0 : 1);
