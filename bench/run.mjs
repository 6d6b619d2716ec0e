// Measures this gateway on this machine, beside a floor: a bot without a prompt and without storage (null-gateway.mjs).
//   npm run bench                 all experiments (about fifty minutes)
//   npm run bench -- start seq    only these experiments
//   npm run bench -- profile      where the processor time and the memory of one message of 50 senders go
//   npm run bench -- profile-one  the same of one sender; profile-streams: of open streams
//   npm run bench -- collector    what settings of V8's garbage collector cost
// Exits with 1 when an experiment failed, or when the soak or the channels found an error.
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import process from "node:process";
import * as F from "./figures.mjs";
import { printFigures } from "./kit/figures.mjs";

const here = import.meta.dirname;
const bin = path.join(path.dirname(here), "bin", "openclaw.mjs");
const scratch = fs.mkdtempSync(path.join(os.tmpdir(), "openclaw-bench-"));
const results = path.join(scratch, "results.jsonl");

const gateways = {
  floor: `${process.execPath} ${path.join(here, "null-gateway.mjs")} {port}`,
  openclaw: `${process.execPath} ${bin} gateway run --port {port}`,
};

/** With `rounds`, each round runs the floor and then this gateway; without, the floor has no such figure. */
const experiments = {
  start: { run: ["start.mjs", "5"], figures: F.startFigures, rounds: 1 },
  idle: { run: ["idle.mjs", "30"], figures: F.idleFigures, rounds: 1 },
  seq: { run: ["one-sender.mjs", "100", "5"], figures: F.oneSenderFigures, rounds: 3 },
  "first-sign": { run: ["first-sign.mjs", "100", "40"], figures: F.firstSignFigures, rounds: 1 },
  conc: { run: ["fifty-senders.mjs", "50", "10"], figures: F.fiftySendersFigures, rounds: 3 },
  growth: { run: ["growth.mjs", "500", "10000"], figures: F.growthFigures, rounds: 1 },
  "slow-disk": { run: ["slow-disk.mjs", "20"], figures: F.slowDiskFigures, rounds: 1 },
  streams: { run: ["streams.mjs", "60", "20", "partial"], figures: F.draftStreamsFigures, rounds: 1 },
  "streams-off": { run: ["streams.mjs", "60", "20", "off"], figures: F.plainStreamsFigures, rounds: 1 },
  "streams-500": { run: ["streams.mjs", "500", "1", "partial"], figures: F.manyStreamsFigures, rounds: 1 },
  hostile: { run: ["hostile.mjs", "8", "200000"], figures: F.hostileFigures },
  flat: { run: ["flat-cost.mjs", "300000", "10000"], figures: F.flatCostFigures },
  jobs: { run: ["jobs.mjs", "1000", "10000", "60"], figures: F.jobFigures },
  hist: { run: ["hist.mjs", "10", "500", "5000", "50000"], figures: F.historyFigures },
  soak: { run: ["soak.mjs", "2000"], figures: F.soakFigures },
  channels: { run: ["channels.mjs", "10000", "500"], figures: F.channelFigures },
  sandbox: { run: ["sandbox.mjs", "60"], figures: F.sandboxFigures },
  policy: { run: ["policy.mjs", "500", "2000"], figures: F.policyFigures },
  schemas: { run: ["schemas.mjs"], figures: F.schemaFigures },
  web: { run: ["web.mjs", "15"], figures: F.webFigures },
  memory: { run: ["memory.mjs", "50000", "300"], figures: F.memoryFigures },
  page: { run: ["page.mjs", "10000", "50", "10"], figures: F.pageFigures },
  plugins: { run: ["plugins.mjs", "15", "100", "3"], figures: F.pluginFigures },
};

/** Print their own tables, and run only when they are named. */
const reports = {
  profile: { run: ["../profile/profile.mjs", "senders", "2000"] },
  "profile-one": { run: ["../profile/profile.mjs", "sender", "500"] },
  "profile-streams": { run: ["../profile/profile.mjs", "streams"] },
  collector: { run: ["../collector/collector.mjs", "10000"] },
};

function machine() {
  const cpus = os.cpus();
  const memory = Math.round(os.totalmem() / 2 ** 30);
  return `${cpus[0]?.model ?? "unknown CPU"}, ${cpus.length} cores, ${memory} GiB, ${os.type()} ${os.release()}, Node ${process.version}`;
}

/** Runs one experiment once, with the gateway of that name. Its files, which may be large, stay only after a failure. */
function measure(experiment, name, [script, ...args], stdout = "ignore") {
  const folder = path.join(scratch, experiment, name);
  const child = spawnSync(process.execPath, [path.join(here, "experiments", script), ...args], {
    cwd: here,
    stdio: ["ignore", stdout, "inherit"],
    env: {
      ...process.env,
      EXPERIMENT: experiment,
      NAME: name,
      ROOT: folder,
      RESULTS: results,
      PORT_BASE: process.env.PORT_BASE ?? "19300",
      GW_CMD: gateways[name],
    },
  });
  if (child.status === 0) return fs.rmSync(folder, { recursive: true, force: true });
  console.error(`${experiment} of ${name}: ended with ${child.status ?? child.signal}; see ${folder}`);
  process.exitCode = 1;
}

function measureRounds(name) {
  const { run, rounds } = experiments[name];
  for (let round = 0; round < (rounds ?? 1); round++) {
    if (rounds) measure(name, "floor", run);
    measure(name, "openclaw", run);
  }
}

function versionMs() {
  const times = Array.from({ length: 7 }, () => {
    const begun = performance.now();
    spawnSync(process.execPath, [bin, "--version"], { stdio: "ignore" });
    return performance.now() - begun;
  });
  return F.versionFigure(times);
}

function readResults() {
  if (!fs.existsSync(results)) return [];
  const lines = fs.readFileSync(results, "utf8").trim().split("\n");
  return lines.map((line) => JSON.parse(line));
}

/** An experiment that gave no result has no figures; its failure was printed. */
function figuresOf(name, rows) {
  const some = rows.filter((row) => row.exp === name);
  const [ours, floor] = [some.filter((row) => row.name === "openclaw"), some.filter((row) => row.name === "floor")];
  return ours.length > 0 ? experiments[name].figures({ ours, floor }) : [];
}

const asked = process.argv.slice(2);
const unknown = asked.filter((name) => !Object.hasOwn({ ...experiments, ...reports }, name));
if (unknown.length > 0) {
  fs.rmdirSync(scratch);
  console.error(`unknown: ${unknown.join(", ")}; known: ${Object.keys({ ...experiments, ...reports }).join(", ")}`);
  process.exit(2);
}
const named = (some) => Object.keys(some).filter((name) => asked.includes(name));
const measured = asked.length > 0 ? named(experiments) : Object.keys(experiments);

console.log(machine());
for (const name of named(reports)) measure(name, "openclaw", reports[name].run, "inherit");
for (const name of measured) measureRounds(name);
if (measured.length > 0) {
  const rows = readResults();
  printFigures([versionMs(), ...measured.flatMap((name) => figuresOf(name, rows))]);
  console.log(`raw: ${results}`);
}
