// Measures this gateway on this machine, and compares the results with the project's targets.
//   npm run bench                 everything (some minutes)
//   npm run bench -- start seq    only these experiments
//   npm run bench -- profile      where the processor time and the memory of one message go
// Exits with 1 when an experiment failed, or when the soak or the channels found an error.
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import process from "node:process";

const here = import.meta.dirname;
const root = path.dirname(here);
const bin = path.join(root, "bin", "openclaw.mjs");
const scratch = fs.mkdtempSync(path.join(os.tmpdir(), "openclaw-bench-"));
const results = path.join(scratch, "results.jsonl");

const experiments = {
  start: ["bench.mjs", "start", "5"],
  seq: ["bench.mjs", "seq", "50", "5"],
  conc: ["bench.mjs", "conc", "50", "10"],
  hist: ["hist.mjs", "10", "500", "5000", "50000"],
  soak: ["soak.mjs", "2000"],
  channels: ["channels.mjs", "10000", "500"],
  plugins: ["plugins.mjs", "15", "100", "3"],
};

/** Print their own tables, and run only when they are named. */
const tables = {
  profile: ["profile/profile.mjs", "2000"],
};

const machine = () => {
  const cpus = os.cpus();
  const memory = Math.round(os.totalmem() / 2 ** 30);
  return `${cpus[0]?.model ?? "unknown CPU"}, ${cpus.length} cores, ${memory} GiB, ${os.type()} ${os.release()}, Node ${process.version}`;
};

function run(name, stdout = "ignore") {
  const [script, ...args] = experiments[name] ?? tables[name];
  const child = spawnSync(process.execPath, [path.join(here, script), ...args], {
    cwd: here,
    stdio: ["ignore", stdout, "inherit"],
    env: {
      ...process.env,
      NAME: "openclaw",
      ROOT: path.join(scratch, name),
      RESULTS: results,
      PORT_BASE: process.env.PORT_BASE ?? "19300",
      GW_CMD: `${process.execPath} ${bin} gateway run --port {port}`,
    },
  });
  if (child.status === 0) return;
  console.error(`${name}: ended with ${child.status ?? child.signal}`);
  process.exitCode = 1;
}

function versionMs() {
  const times = Array.from({ length: 7 }, () => {
    const begun = performance.now();
    spawnSync(process.execPath, [bin, "--version"], { stdio: "ignore" });
    return performance.now() - begun;
  });
  return times.sort((a, b) => a - b)[3];
}

const read = () =>
  fs.existsSync(results)
    ? fs
        .readFileSync(results, "utf8")
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line))
    : [];

function figures(rows) {
  const of = (exp) => rows.find((row) => row.exp === exp);
  const [start, seq, conc] = [of("start"), of("seq"), of("conc")];
  const hist = rows.filter((row) => row.exp === "hist");
  const short = hist.find((row) => row.n === 10);
  const long = hist.find((row) => row.n === 50000);
  return [
    ["openclaw --version", versionMs(), 100, "ms"],
    start && ["ready (/healthz, median of 5)", start.median.healthz, 600, "ms"],
    start && ["idle after 10 s, Telegram on", start.idle10s?.rssMiB, 120, "MiB"],
    seq && ["before the model, p50", seq.pre.p50, 10, "ms"],
    seq && ["before the model, p95", seq.pre.p95, 25, "ms"],
    seq && ["CPU a message", seq.cpuMsPerMsg, undefined, "ms"],
    conc && ["50 senders", conc.msgPerS, -150, "messages/s"],
    conc && ["messages lost", conc.lost, 0, ""],
    conc && ["after 500 messages", conc.mem1.rssMiB, 200, "MiB"],
    ...hist.map((row) => [`before the model at ${row.n} messages, p50`, row.pre?.p50, undefined, "ms"]),
    short?.pre && long?.pre && ["50,000 messages against 10", long.pre.p50 / short.pre.p50, 2, "times"],
    ...soakFigures(of("soak")),
    ...channelFigures(of("channels")),
    ...pluginFigures(of("plugins")),
  ].filter(Boolean);
}

function channelFigures(row) {
  if (!row) return [];
  const { costs, loads, messages, chats } = row;
  const { none } = costs;
  return [
    ...loads.flatMap((load) => loadFigures(load, `${messages} messages, ${chats} chats, ${load.channels} channels`)),
    ...Object.entries(costs).flatMap(([name, { listening, connected, rss }]) => [
      [`channels on: ${name}: listening`, listening, undefined, "ms"],
      ...(connected === listening ? [] : [[`channels on: ${name}: connected`, connected, undefined, "ms"]]),
      [`channels on: ${name}: idle`, rss, undefined, "MiB"],
    ]),
    ["idle, five channels off against none in the config", costs["all five off"].rss / none.rss, 1.05, "times"],
  ];
}

function pluginFigures(row) {
  if (!row) return [];
  const { plugins, start, hooks, without, withHooks, perHook } = row;
  return [
    ["ready, no plugins", start.none, undefined, "ms"],
    [`ready, ${plugins} plugins that are off: more`, start.off - start.none, 50, "ms"],
    [`ready, ${plugins} plugins that are on: more`, start.on - start.none, undefined, "ms"],
    ["CPU a message, no plugins", without, undefined, "ms"],
    [`CPU a message, ${hooks} hooks that do nothing`, withHooks, undefined, "ms"],
    ["CPU a message for each such hook", perHook, 0.1, "ms"],
  ];
}

function loadFigures(load, name) {
  const { channels, faults } = load;
  return [
    [`${name} with faults`, load.perSecond, undefined, "messages/s"],
    [
      `${channels} channels: faults that were made`,
      Object.values(faults).reduce((sum, n) => sum + n, 0),
      undefined,
      "",
    ],
    [`${channels} channels: answers sent again, labelled`, load.labelled, undefined, ""],
    [`${channels} channels: given up after two broken sends, operator told`, load.givenUp, undefined, ""],
    [`${channels} channels: lost, doubled, out of order, unsettled, or memory not flat`, load.wrong.length, 0, ""],
    [`${channels} channels: memory in the second quarter`, load.early, undefined, "MiB"],
    [`${channels} channels: memory in the last quarter`, load.late, undefined, "MiB"],
    [`${channels} channels: memory, last quarter against second`, load.memoryRatio, 1.3, "times"],
  ];
}

function soakFigures(soak) {
  if (!soak) return [];
  const { turns, window } = soak;
  return [
    [`${turns} turns in ${window} tokens: compactions`, soak.compactions, -turns / 100, ""],
    ["largest request", soak.largestTokens, window, "tokens"],
    ["a turn at the beginning, p50", soak.first.total.p50, undefined, "ms"],
    ["a turn at the beginning, p95", soak.first.total.p95, undefined, "ms"],
    ["a turn at the end, p50", soak.last.total.p50, undefined, "ms"],
    ["a turn at the end, p95", soak.last.total.p95, undefined, "ms"],
    ["a turn at the end against the beginning", soak.ratio, undefined, "times"],
    ["CPU per turn at the beginning", soak.cpu1, undefined, "ms"],
    ["CPU per turn at the end", soak.cpu2, undefined, "ms"],
    ["CPU per turn, end against beginning", soak.cpuRatio, 1.3, "times"],
    ["memory after 200 turns", soak.rss1, undefined, "MiB"],
    [`memory after ${turns} turns`, soak.rss2, undefined, "MiB"],
    ["memory at the end against 200 turns", soak.rssRatio, 1.3, "times"],
    ["transcript", soak.transcriptBytes / 2 ** 20, undefined, "MiB"],
    ["requests and replies that were wrong", soak.wrong.length, 0, ""],
  ];
}

/** A target below zero is a minimum (its absolute value); any other is a maximum. */
function row([name, value, target, unit]) {
  const shown = Number.isFinite(value) ? `${Math.round(value * 10) / 10} ${unit}`.trim() : "no figure";
  if (target === undefined) return [name, shown, "", "", ""];
  const ratio = target < 0 ? -target / value : value / target;
  const met = target < 0 ? value >= -target : value <= target;
  const wanted = `${target < 0 ? "≥" : "≤"} ${Math.abs(target)} ${unit}`;
  return [name, shown, wanted, Number.isFinite(ratio) ? ratio.toFixed(2) : "", met ? "met" : "missed"];
}

function printFigures() {
  const table = [["figure", "here", "target", "ratio", ""], ...figures(read()).map(row)];
  const widths = table[0].map((_, column) => Math.max(...table.map((cells) => cells[column].length)));
  for (const cells of table)
    console.log(
      cells
        .map((cell, column) => cell.padEnd(widths[column]))
        .join("  ")
        .trimEnd(),
    );
  console.log(`raw: ${results}`);
}

const asked = process.argv.slice(2);
const named = (some) => Object.keys(some).filter((name) => asked.includes(name));
const unknown = asked.filter((name) => !(name in experiments) && !(name in tables));
if (unknown.length > 0) {
  console.error(`unknown: ${unknown.join(", ")}; known: ${Object.keys({ ...experiments, ...tables }).join(", ")}`);
  process.exit(2);
}
const measured = asked.length > 0 ? named(experiments) : Object.keys(experiments);
console.log(machine());
for (const name of named(tables)) run(name, "inherit");
for (const name of measured) run(name);
if (measured.length > 0) printFigures();
