import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Orders } from "./child.ts";
import { SignalServer, writeFakeProgram } from "./signal-server.ts";

let server: SignalServer;
let folder = "";
let orders: Omit<Orders, "die">;
const children: ChildProcess[] = [];
/** What the gateways of a test logged, for a failure that is seen once. */
const said: string[] = [];

beforeEach(async () => {
  server = await SignalServer.start();
  folder = await mkdtemp(path.join(tmpdir(), "signal-kill-"));
  const cliPath = await writeFakeProgram(folder);
  orders = { cliPath, folder, journal: path.join(folder, "journal"), notes: path.join(folder, "notes") };
});
afterEach(async () => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
  said.length = 0;
  await server.close();
  await rm(folder, { recursive: true, force: true });
});

function start(die: Orders["die"] = "never"): ChildProcess {
  const args = ["--conditions=source", "--no-warnings", path.join(import.meta.dirname, "child.ts")];
  const child = spawn(process.execPath, [...args, JSON.stringify({ ...orders, die })], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, ...server.env },
  });
  children.push(child);
  said.push(`started, to die at ${JSON.stringify(die)}\n`);
  child.stderr.on("data", (data: Buffer) => said.push(data.toString()));
  return child;
}

const isUp = async (child: ChildProcess): Promise<void> => {
  if (child.stdout) await once(child.stdout, "data");
};

const journal = async (): Promise<ReadonlySet<string>> =>
  new Set((await readFile(orders.journal, "utf8").catch(() => "")).split("\n").filter(Boolean));

/** What the journal has after one more start, one more message and a stop in order, which leaves no signal-cli. */
async function inTheEnd(): Promise<ReadonlySet<string>> {
  const last = start();
  await isUp(last);
  server.say("the last");
  await expect.poll(journal).toContain("the last");
  last.kill("SIGTERM");
  expect(await once(last, "exit")).toEqual([0, null]);
  expect(await server.signalClis(), said.join("")).toEqual([]);
  return journal();
}

const all = (texts: readonly string[]): ReadonlySet<string> => new Set([...texts, "the last"]);
const burst = (count: number, name = "message"): readonly string[] =>
  Array.from({ length: count }, (_, at) => `${name} ${at}`);
const say = (texts: readonly string[]): void => texts.forEach((text) => server.say(text));

test.each([
  { at: "message", what: "message 0" },
  { at: "stored", what: "message 0" },
  { at: "note", what: "lastEvent" },
  { at: "noted", what: "lastEvent" },
  { at: "note", what: '"pid"' },
  { at: "noted", what: '"pid"' },
] as const)("killed at $at of $what, with messages on their way", async (die) => {
  say(burst(20));
  await once(start(die), "exit");
  expect(await inTheEnd()).toEqual(all(burst(20)));
});

test("killed again and again during a burst", async () => {
  const texts = burst(150);
  for (const [at, text] of texts.entries()) {
    if (at % 30 !== 29) {
      server.say(text);
      continue;
    }
    const gateway = start({ at: at % 60 === 29 ? "message" : "stored", what: text });
    server.say(text);
    await once(gateway, "exit");
  }
  expect(await inTheEnd()).toEqual(all(texts));
});

test("killed while it reads what a killed one left", async () => {
  say(burst(20));
  await once(start({ at: "message", what: "message 0" }), "exit");
  await once(start({ at: "stored", what: "message 0" }), "exit");
  await once(start({ at: "note", what: "daemon " }), "exit");
  expect(await inTheEnd()).toEqual(all(burst(20)));
});

test("frozen, then killed: what signal-cli took meanwhile is not lost", async () => {
  const gateway = start();
  await isUp(gateway);
  gateway.kill("SIGSTOP");
  say(burst(3));
  await server.acknowledged(3);
  gateway.kill("SIGKILL");
  await once(gateway, "exit");
  expect(await inTheEnd()).toEqual(all(burst(3)));
});

test("stopped during a burst, and killed as it stops", async () => {
  const first = start();
  await isUp(first);
  say(burst(150));
  await server.acknowledged(10);
  first.kill("SIGTERM");
  await once(first, "exit");
  const second = start({ at: "stored", what: "second 100" });
  // It may end by itself before the signal comes.
  const ended = once(second, "exit");
  await isUp(second);
  say(burst(150, "second"));
  await server.acknowledged(160);
  second.kill("SIGTERM");
  await ended;
  expect(await inTheEnd()).toEqual(all([...burst(150), ...burst(150, "second")]));
});
