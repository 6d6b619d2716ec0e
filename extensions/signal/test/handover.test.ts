import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { processStart } from "openclaw/plugin-sdk";
import type { ChannelLink } from "openclaw/plugin-sdk";
import { Host } from "../../../test/contracts/channel.ts";
import { signal } from "../index.ts";
import { SELF } from "./fake-signal.ts";
import { isAlive, SignalServer, writeFakeProgram } from "./signal-server.ts";
import { until } from "../../../test/kit/until.ts";

let folder = "";
let cliPath = "";
let server: SignalServer;
const links: ChannelLink[] = [];

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "signal-cli-"));
  cliPath = await writeFakeProgram(folder);
});
beforeEach(async () => {
  server = await SignalServer.start();
  vi.stubEnv("SIGNAL_SERVER", server.env["SIGNAL_SERVER"]);
});
afterEach(async () => {
  for (const link of links.splice(0)) await link.close();
  vi.unstubAllEnvs();
  await server.close();
});
afterAll(() => rm(folder, { recursive: true }));

async function connect(host: Host, config: Record<string, unknown> = {}): Promise<ChannelLink> {
  const link = await signal.connect(signal.config.parse({ account: SELF.number, cliPath, ...config }), host);
  links.push(link);
  return link;
}

const isUp = (host: Host): boolean => host.reports.at(-1)?.kind === "alive";
const log = (host: Host): string => host.lines.join("\n");
const texts = (...hosts: Host[]) => new Set(hosts.flatMap(({ received }) => received.map(({ text }) => text)));
const messages = (count: number): string[] => Array.from({ length: count }, (_, at) => `message ${at}`);

async function pidOf(host: Host): Promise<number> {
  const { pid } = JSON.parse((await host.notes.get("daemon")) ?? "{}") as { pid: number };
  return pid;
}

async function freePort(): Promise<number> {
  const taken = createServer().listen(0, "127.0.0.1");
  await once(taken, "listening");
  const { port } = taken.address() as AddressInfo;
  taken.close();
  await once(taken, "close");
  return port;
}

/** What a killed gateway leaves: nobody reads its signal-cli, and nothing that it has read is stored. */
async function abandoned(config: Record<string, unknown> = {}): Promise<{ host: Host; pid: number }> {
  const host = new Host();
  await connect(host, config);
  await host.until(() => isUp(host));
  const pid = await pidOf(host);
  host.refuse = Number.POSITIVE_INFINITY;
  links.pop();
  return { host, pid };
}

describe("a signal-cli that ends has handed over what it held", () => {
  test("when the account closes while messages arrive", async () => {
    const host = new Host();
    const link = await connect(host);
    await host.until(() => isUp(host));
    const pid = await pidOf(host);
    for (const text of messages(150)) server.say(text);
    await server.acknowledged(20);
    await link.close();
    expect(isAlive(pid)).toBe(false);
    expect(log(host)).toContain("signal-cli ended, and everything that it held is stored");
    const next = new Host(host);
    await connect(next);
    await next.until(() => texts(host, next).size === 150);
    expect(texts(host, next)).toEqual(new Set(messages(150)));
  });

  test("when the journal refused messages until the account closed, as during a stop", async () => {
    const host = new Host();
    const link = await connect(host);
    await host.until(() => isUp(host));
    host.refuse = Number.POSITIVE_INFINITY;
    for (const text of messages(150)) server.say(text);
    await server.acknowledged(150);
    await host.until(() => host.offered > 0);
    host.refuse = 0;
    await link.close();
    expect(texts(host)).toEqual(new Set(messages(150)));
  });

  test("when a message arrives as it ends", async () => {
    vi.stubEnv("SIGNAL_LAST", "at the last moment");
    const host = new Host();
    const link = await connect(host);
    await host.until(() => isUp(host));
    await link.close();
    expect(texts(host)).toEqual(new Set(["at the last moment"]));
  });

  test("when the gateway was killed: the next one reads it first", async () => {
    const { host, pid } = await abandoned();
    for (const text of messages(3)) server.say(text);
    await server.acknowledged(3);
    host.stop();
    const next = new Host(host);
    await connect(next);
    expect(texts(next)).toEqual(new Set(messages(3)));
    await until(() => !isAlive(pid));
    expect(log(next)).toContain("the earlier signal-cli ended, and everything that it held is stored");
    server.say("the next one");
    await next.heard("the next one");
  });

  test("when the gateway was killed before it noted the process", async () => {
    const { host, pid } = await abandoned();
    server.say("held");
    await server.acknowledged(1);
    host.stop();
    const {
      pid: _pid,
      start: _start,
      ...before
    } = JSON.parse((await host.notes.get("daemon")) ?? "") as object & {
      pid: number;
      start: string;
    };
    await host.notes.set("daemon", JSON.stringify(before));
    const next = new Host(host);
    await connect(next);
    expect(texts(next)).toEqual(new Set(["held"]));
    await until(() => !isAlive(pid));
  });

  test("when an older gateway noted only its process id", async () => {
    const port = await freePort();
    const orphan = spawn(cliPath, ["-a", SELF.number, "daemon", "--http", `127.0.0.1:${port}`], { stdio: "ignore" });
    const ended = once(orphan, "exit");
    server.say("held");
    const host = new Host();
    await host.notes.set("daemonPid", String(orphan.pid));
    await connect(host);
    await ended;
    expect(texts(host)).toEqual(new Set(["held"]));
    expect(await host.notes.get("daemonPid")).toBe("");
  });
});

describe("a signal-cli that could not hand over what it held", () => {
  test("runs until the journal of the next gateway takes it", async () => {
    const { host, pid } = await abandoned();
    server.say("held");
    await server.acknowledged(1);
    host.stop();
    const next = new Host(host);
    next.refuse = Number.POSITIVE_INFINITY;
    const connecting = connect(next);
    await next.until(() => next.offered > 1);
    expect(isAlive(pid)).toBe(true);
    next.refuse = 0;
    await connecting;
    expect(texts(next)).toEqual(new Set(["held"]));
    await until(() => !isAlive(pid));
  });

  test("is left running when the account closes, and the log says so", async () => {
    const host = new Host();
    const link = await connect(host);
    await host.until(() => isUp(host));
    const pid = await pidOf(host);
    host.refuse = Number.POSITIVE_INFINITY;
    server.say("held");
    await host.until(() => host.offered > 0);
    await link.close();
    expect(isAlive(pid)).toBe(true);
    expect(log(host)).toMatch(/signal-cli was left running.*"why":"the journal did not take them"/);
    const next = new Host(host);
    await connect(next);
    expect(texts(next)).toEqual(new Set(["held"]));
    await until(() => !isAlive(pid));
  });
});

describe("another program", () => {
  const ours = ["-a", SELF.number, "daemon", "--http", "127.0.0.1:1"];

  test.each([
    { what: "with other arguments", started: ["-a", "+15557654321", "daemon"], isLater: false },
    { what: "that began later", started: ours, isLater: true },
  ])("$what is not touched", async ({ started, isLater }) => {
    const stranger = spawn(process.execPath, ["-e", "setTimeout(() => 0, 60_000)", "--", ...started], {
      stdio: "ignore",
    });
    const { pid = 0 } = stranger;
    await once(stranger, "spawn");
    const start = isLater ? "an earlier time" : await processStart(pid);
    const host = new Host();
    await host.notes.set("daemon", JSON.stringify({ arguments: ours.join(" "), pid, start }));
    await connect(host);
    expect(isAlive(pid)).toBe(true);
    expect(log(host)).not.toContain("left a signal-cli behind");
    stranger.kill();
  });
});

test("a note of a signal-cli that cannot be read is reported", async () => {
  const host = new Host();
  await host.notes.set("daemon", "{half");
  await connect(host);
  expect(log(host)).toContain("the note of an earlier signal-cli cannot be read");
});

describe("a signal-cli that does not answer", () => {
  const quick = { startupTimeoutMs: 1000, stallThresholdMs: 1000 };

  test("is restarted, and what Signal kept arrives", async () => {
    const host = new Host();
    await connect(host, quick);
    await host.until(() => isUp(host));
    const pid = await pidOf(host);
    process.kill(pid, "SIGSTOP");
    await host.until(() => log(host).includes("signal-cli does not answer and is restarted"));
    await host.until(() => isUp(host));
    await until(() => !isAlive(pid));
    server.say("after that");
    await host.heard("after that");
  });

  test("at its start is restarted, and given more time each time", async () => {
    const hangs = path.join(folder, "hangs");
    await writeFile(hangs, "");
    vi.stubEnv("SIGNAL_HANGS", hangs);
    const host = new Host();
    await connect(host, quick);
    await host.until(() => log(host).includes("it held no messages"));
    expect(JSON.stringify(host.reports)).toMatch(
      /does not answer \(1 s\): signal-cli cannot be reached \(ECONNREFUSED\)/,
    );
    expect(log(host)).toMatch(/is restarted .*"why":"signal-cli cannot be reached \(ECONNREFUSED\)"/);
    await rm(hangs);
    server.say("at last");
    await host.heard("at last");
  });

  test("because it may not be run says so", async () => {
    const host = new Host();
    const forbidden = path.join(folder, "forbidden");
    await writeFile(forbidden, "", { mode: 0o600 });
    await connect(host, { cliPath: forbidden });
    expect(host.reports.at(-1)).toMatchObject({ reason: expect.stringMatching(/cannot be started: .*EACCES/) });
  });

  test("because it was missing is found when it is there", async () => {
    const host = new Host();
    const later = path.join(folder, "later");
    await connect(host, { cliPath: path.join(later, "signal-cli") });
    expect(host.reports.at(-1)).toMatchObject({
      kind: "trouble",
      reason: expect.stringMatching(/cannot be started: .*ENOENT/),
      fix: expect.stringContaining("Install signal-cli"),
    });
    await mkdir(later);
    await writeFakeProgram(later);
    server.say("at last");
    await host.heard("at last");
  });
});
