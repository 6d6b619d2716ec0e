// npm run bench:path   How much code of this project one Telegram text runs through in a warm gateway, and one text for which the agent calls `exec`
// once: files, functions with a name and their calls, by module. The gateway runs from the sources, so nothing has to be built.
// All that runs from the text until the gateway is at rest again counts, except functions that run in a gateway at rest too.
import fs from "node:fs";
import net from "node:net";
import path from "node:path";
import process from "node:process";
import { text } from "node:stream/consumers";
import { pathToFileURL } from "node:url";
import { printColumns } from "./kit/figures.mjs";
import * as L from "./lib.mjs";

const CHAT = 6000;
const OUTPUT = "exec-has-run";
const TEXTS = {
  "one text": "",
  "one text with exec": `TOOL:exec ${JSON.stringify({ command: `echo ${OUTPUT}` })}`,
};
/** Longer than the pause between two rounds of anything that a gateway does at rest. */
const REST_MS = 3000;

const main = path.join(import.meta.dirname, "..", "src", "app", "main.ts");
const recorder = pathToFileURL(path.join(import.meta.dirname, "kit", "call-recorder.mjs")).href;
const socket = path.join(L.ROOT, "calls.sock");

/** The calls since the last time: `calls` by function, each with its file. */
async function takeCalls() {
  const scripts = JSON.parse(await text(net.connect(socket)));
  return new Map(
    scripts.flatMap(({ file, calls }) =>
      calls.map(([name, start, count]) => [`${file}:${start} ${name}`, { file, count }]),
    ),
  );
}

function add(sums, taken) {
  for (const [id, { file, count }] of taken) sums.set(id, { file, count: count + (sums.get(id)?.count ?? 0) });
}

/** The functions that run in a gateway at rest: those of REST_MS in which no function ran that had not run in the REST_MS before. */
async function functionsAtRest() {
  await takeCalls();
  for (let earlier = new Map(); ;) {
    await L.sleep(REST_MS);
    const taken = await takeCalls();
    const isAtRest = taken.size > 0 && [...taken.keys()].every((id) => earlier.has(id));
    if (isAtRest) return new Set(taken.keys());
    earlier = taken;
  }
}

/** Sends the text and waits for its answer. Throws when there was none, or when the tool did not run. */
async function answered(extra) {
  const { marker, tReply } = await L.roundTrip(CHAT, extra);
  if (!tReply) throw new Error(`no answer; see ${L.ROOT}/gateway.log`);
  const requests = (await L.llm("log")).filter((one) => one.marker === marker);
  const results = requests.filter((one) => one.isToolResult);
  if (results.length !== (extra ? 1 : 0) || results.some((one) => !one.lastText.includes(OUTPUT)))
    throw new Error(`exec did not run as often as it was asked to: ${results.map((one) => one.lastText)}`);
}

/** What the second of two such texts runs through, by function. */
async function callsOf(extra) {
  await answered(extra);
  const atRest = await functionsAtRest();
  const sums = new Map();
  await answered(extra);
  for (let isOver = false; !isOver;) {
    const taken = await takeCalls();
    for (const id of atRest) taken.delete(id);
    add(sums, taken);
    isOver = taken.size === 0;
    if (!isOver) await L.sleep(REST_MS);
  }
  return { calls: [...sums.values()], atRest };
}

const moduleOf = ({ file }) => file.split("/", 2).join("/");

const cellsOf = (calls) => {
  const sum = calls.reduce((total, { count }) => total + count, 0);
  return [new Set(calls.map(({ file }) => file)).size, calls.length, sum].map((value) => value.toLocaleString("en"));
};

function print(title, { calls, atRest }) {
  const modules = [...Map.groupBy(calls, moduleOf)].sort(([, a], [, b]) => b.length - a.length);
  const rows = modules.map(([name, some]) => [name, ...cellsOf(some)]);
  console.log(`\n${title}; ${atRest.size} functions that run at rest do not count\n`);
  printColumns([["module", "files", "functions", "calls"], ...rows, ["all", ...cellsOf(calls)]], [1, 2, 3]);
}

process.env.GW_CMD = `${process.execPath} --conditions=source ${main} gateway run --port {port}`;
process.env.CALLS_SOCKET = socket;
fs.rmSync(socket, { force: true });
L.mkConfig({ tools: { exec: { security: "full", ask: "off" } } });
await L.startFakes();
try {
  const gateway = await L.startGateway({ nodeArgs: `--import ${recorder}` });
  if (gateway.poll === null) throw new Error(`the gateway did not start; see ${L.ROOT}/gateway.log`);
  for (const [title, extra] of Object.entries(TEXTS)) print(title, await callsOf(extra));
} finally {
  await L.stopAll();
}
process.exit(0);
