import { afterEach, expect, test } from "vitest";
import { startChannels, type Channels } from "../../src/channels/channels.ts";
import { channelChecks } from "../../src/channels/checks.ts";
import { methods } from "../../src/channels/methods.ts";
import type { ChannelPorts, ConfiguredAccount, LibraryRequest } from "../../src/channels/ports.ts";
import { OpenClawError } from "../../src/types/errors.ts";
import { accountId, DEFAULT_ACCOUNT } from "../../src/types/ids.ts";
import { NotNow } from "../../src/types/not-now.ts";
import { memoryValues } from "../kit/store/memory-values.ts";
import { message } from "../kit/inbound.ts";
import { silent, TestClock, Toy, TOY } from "../kit/toy-channel.ts";

const open: Channels[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((channels) => channels.close()));
});

function run(
  toy: Toy,
  account = toy.account(),
  receive = async (): Promise<void> => undefined,
  more: Pick<ChannelPorts, "library"> = {},
) {
  const clock = new TestClock();
  const media = { read: async () => new Uint8Array([1]) };
  const ports = { adapters: [account], receive, media, values: memoryValues(), log: silent, clock };
  const channels = startChannels({ ...ports, ...more });
  open.push(channels);
  return { channels, clock, row: () => channels.status()[0]! };
}

/** An account that a person links by a login. */
const linked = (toy: Toy) =>
  toy.account({ adapter: { ...toy.adapter, login: async () => ({ id: "1", name: "@toy" }) } });

const caller = { connId: "c", scopes: new Set<string>(), client: { id: "", version: "", platform: "", mode: "" } };

test("an account is starting, running, in trouble and running again", async () => {
  const toy = new Toy();
  const { channels, clock, row } = run(toy);
  expect(row()).toMatchObject({ lifecycle: "starting", running: true, connected: false });
  await clock.pass(1);
  toy.host.report({ kind: "alive", self: { id: "1", name: "@toy" } });
  expect(row()).toMatchObject({ lifecycle: "running", connected: true, self: { name: "@toy" }, lastError: null });
  toy.host.report({ kind: "trouble", reason: "no network" });
  expect(row()).toMatchObject({
    lifecycle: "trouble",
    connected: false,
    lastError: "no network",
    reconnectAttempts: 1,
  });
  toy.host.report({ kind: "alive" });
  expect(row()).toMatchObject({ lifecycle: "running", reconnectAttempts: 0, lastError: null });
  expect(channels.link(TOY, DEFAULT_ACCOUNT)).toBeDefined();
  expect(channels.limits(TOY)?.text).toBe(10);
});

test("a link without a sign of life is closed and opened again", async () => {
  const toy = new Toy();
  const { clock, row } = run(toy);
  await clock.pass(1);
  toy.host.report({ kind: "alive" });
  for (let minute = 0; minute < 20; minute++) {
    await clock.pass(60_000);
    toy.host.report({ kind: "alive" });
  }
  expect(toy.hosts).toHaveLength(1);
  await clock.pass(6 * 60_000);
  expect(toy.hosts).toHaveLength(2);
  expect(toy.closed).toBe(1);
  expect(toy.hosts[0]!.signal.aborted).toBe(true);
  toy.hosts[0]!.report({ kind: "alive" });
  expect(row().lifecycle).toBe("starting");
});

/** Seconds of an hour in each state, and how often it connected. */
async function anHour({ clock, row }: ReturnType<typeof run>, toy: Toy) {
  const seconds: Partial<Record<string, number>> = {};
  for (let second = 0; second < 3600; second += 1) {
    await clock.pass(1000);
    const { lifecycle } = row();
    seconds[lifecycle] = (seconds[lifecycle] ?? 0) + 1;
  }
  return { seconds, connects: toy.hosts.length };
}

test("an account that stalls after each connect is in trouble, and is reopened with longer pauses", async () => {
  const toy = new Toy();
  toy.connecting = async () => void setImmediate(() => toy.host.report({ kind: "alive" }));
  const stage = run(toy);
  const first = await anHour(stage, toy);
  expect(first.seconds["running"]).toBeLessThanOrEqual(331);
  expect(stage.row()).toMatchObject({ connected: false, lastError: expect.stringMatching(/^no sign of life for/) });
  expect(stage.row().reconnectAttempts).toBeGreaterThan(5);
  const later = await anHour(stage, toy);
  expect(later.seconds["running"]).toBeUndefined();
  expect(later.connects - first.connects).toBeLessThan(9);
  // It receives again.
  for (let sign = 0; sign < 40; sign += 1) {
    toy.host.report({ kind: "alive" });
    await stage.clock.pass(15_000);
  }
  expect(stage.row()).toMatchObject({ lifecycle: "running", connected: true, lastError: null, reconnectAttempts: 0 });
});

test("an adapter that reopens its stream itself and receives nothing on it is in trouble too", async () => {
  const toy = new Toy();
  const { clock, row } = run(toy);
  await clock.pass(1);
  const silence = async () => {
    toy.host.report({ kind: "alive" });
    await clock.pass(60_000);
    const { lifecycle, lastError } = row();
    toy.host.report({ kind: "trouble", reason: "silent for 60 s" });
    return [lifecycle, lastError];
  };
  expect(await silence()).toEqual(["running", null]);
  for (const _ of [1, 2, 3]) expect(await silence()).toEqual(["trouble", "silent for 60 s"]);
  expect(row().reconnectAttempts).toBe(4);
  toy.host.report({ kind: "alive" });
  await clock.pass(30_000);
  toy.host.report({ kind: "alive" });
  expect(row()).toMatchObject({ lifecycle: "running", reconnectAttempts: 0 });
});

test("a failing connect is retried with longer pauses", async () => {
  const toy = new Toy();
  toy.connecting = async () => Promise.reject(new Error("refused"));
  const { clock, row } = run(toy);
  await clock.pass(10_000);
  const early = toy.hosts.length;
  expect(early).toBeGreaterThanOrEqual(3);
  expect(row()).toMatchObject({ lifecycle: "trouble", lastError: "refused" });
  await clock.pass(60 * 60_000);
  expect(toy.hosts.length).toBeLessThan(50);
  toy.connecting = async () => undefined;
  const before = toy.hosts.length;
  for (let tries = 0; tries < 60 && toy.hosts.length === before; tries++) await clock.pass(10_000);
  toy.host.report({ kind: "alive" });
  expect(row().lifecycle).toBe("running");
});

test("wrong credentials of a login are not retried before the settings change", async () => {
  const toy = new Toy();
  toy.connecting = async () =>
    Promise.reject(new OpenClawError("CHANNEL_AUTH", { message: "Bad token.", fix: "Get another." }));
  const { channels, clock, row } = run(toy, linked(toy));
  await clock.pass(24 * 3600_000);
  expect(toy.hosts).toHaveLength(1);
  expect(row()).toMatchObject({
    lifecycle: "dead",
    running: false,
    configured: false,
    lastError: "Bad token.",
    fix: "Get another.",
  });
  toy.connecting = async () => undefined;
  await channels.restart(TOY, DEFAULT_ACCOUNT, { level: 2 });
  await clock.pass(1);
  toy.host.report({ kind: "alive" });
  expect(row()).toMatchObject({ lifecycle: "running", configured: true, lastError: null });
  expect(toy.configs.at(-1)).toEqual({ level: 2 });
});

test("a link of a login that reports that it cannot continue is closed and stays closed", async () => {
  const toy = new Toy();
  const { channels, clock, row } = run(toy, linked(toy));
  await clock.pass(1);
  toy.host.report({ kind: "dead", reason: "Token revoked.", fix: "Get another." });
  await clock.pass(3600_000);
  expect(row()).toMatchObject({ lifecycle: "dead", connected: false });
  expect(channels.link(TOY, DEFAULT_ACCOUNT)).toBeUndefined();
  expect([toy.hosts.length, toy.closed]).toEqual([1, 1]);
});

test.each([
  ["when it connects", "connect"],
  ["while it receives", "receive"],
  ["when it sends", "send"],
])("an account that the platform refuses %s is tried again, rarely, until it is accepted", async (_, at) => {
  const toy = new Toy();
  const send = toy.link.send;
  let isAccepted = false;
  toy.connecting = async () => {
    if (at !== "connect" || isAccepted) return;
    throw new OpenClawError("CHANNEL_AUTH", { message: "Bad token.", fix: "Get another." });
  };
  toy.link = {
    ...toy.link,
    async send(...args) {
      return isAccepted ? send(...args) : { kind: "retry", reason: "Bad token.", fix: "Get another." };
    },
  };
  const { channels, clock, row } = run(toy);
  const part = { kind: "text", body: "x", plain: "x", format: "plain" } as const;
  const use = async () => {
    await clock.pass(1);
    if (at === "receive" && !isAccepted) toy.host.report({ kind: "dead", reason: "Bad token.", fix: "Get another." });
    if (at === "send") await channels.link(TOY, DEFAULT_ACCOUNT)?.send(message().from, part, { idempotencyKey: "a" });
    if (isAccepted) toy.host.report({ kind: "alive" });
  };
  await use();
  const told = { lifecycle: "dead", running: false, connected: false, lastError: "Bad token.", fix: "Get another." };
  expect(row()).toMatchObject(told);
  expect(row().retryAt).toBeGreaterThan(clock.now());
  for (let minute = 0; minute < 24 * 60; minute++) {
    await clock.pass(60_000);
    await use();
  }
  expect(toy.hosts.length).toBeGreaterThan(10);
  expect(toy.hosts.length).toBeLessThan(150);
  expect(row()).toMatchObject(told);
  isAccepted = true;
  for (let minute = 0; minute < 16; minute++) {
    await clock.pass(60_000);
    await use();
  }
  expect(row()).toMatchObject({ lifecycle: "running", connected: true, configured: true, lastError: null, fix: null });
});

test("an account whose token is refused during a send stops, and its status says how to fix it", async () => {
  const toy = new Toy();
  toy.link = { ...toy.link, send: async () => ({ kind: "retry", reason: "Token revoked.", fix: "Get another." }) };
  const { channels, clock, row } = run(toy, linked(toy));
  await clock.pass(1);
  toy.host.report({ kind: "alive" });
  const part = { kind: "text", body: "x", plain: "x", format: "plain" } as const;
  await channels.link(TOY, DEFAULT_ACCOUNT)?.send(message().from, part, { idempotencyKey: "a" });
  toy.host.report({ kind: "alive" });
  await clock.pass(3600_000);
  expect(row()).toMatchObject({ lifecycle: "dead", lastError: "Token revoked.", fix: "Get another." });
  expect(channels.link(TOY, DEFAULT_ACCOUNT)).toBeUndefined();
});

test.each([
  ["a code", new OpenClawError("CHANNEL_LIBRARY", { message: "Not fetched.", fix: "Set channels.toy.mirror." })],
  ["a hint", new NotNow("Not fetched.", { fix: "Set channels.toy.mirror." })],
])("an account that is tried again after an error with %s says what a person can do", async (_, error) => {
  const toy = new Toy();
  toy.connecting = async () => Promise.reject(error);
  const { channels, clock, row } = run(toy, toy.account({ isNamed: true }));
  await clock.pass(1);
  const told = { lastError: "Not fetched.", fix: "Set channels.toy.accounts.default.mirror." };
  expect(row()).toMatchObject({ lifecycle: "trouble", ...told });
  const [status] = methods(() => channels.status());
  expect(await status?.run({}, caller)).toMatchObject({ channels: { toy: told } });
  toy.connecting = async () => undefined;
  await clock.pass(10_000);
  toy.host.report({ kind: "alive" });
  expect(row()).toMatchObject({ lifecycle: "running", lastError: null, fix: null });
});

test("the status of an account says what it waits for while its library is fetched", async () => {
  const toy = new Toy();
  const fetched = Promise.withResolvers<string>();
  toy.connecting = async () => void (await toy.host.library("toy-sdk"));
  const library = async ({ name, fetching }: LibraryRequest): Promise<string> => {
    fetching?.(`fetching ${name}`);
    return fetched.promise;
  };
  const { clock, row } = run(toy, undefined, undefined, { library });
  await clock.pass(1);
  expect(row()).toMatchObject({ lifecycle: "starting", activity: "fetching toy-sdk" });
  fetched.resolve("file:///toy.js");
  await clock.pass(1);
  expect(row().activity).toBeUndefined();
});

test("notices last while the account works, until new ones or a restart replace them", async () => {
  const toy = new Toy();
  const { channels, clock, row } = run(toy, toy.account({ isNamed: true }));
  await clock.pass(1);
  toy.host.report({ kind: "alive" });
  toy.host.report({ kind: "notices", notices: [{ problem: "Too much.", fix: "Set channels.toy.pace." }] });
  toy.host.report({ kind: "alive" });
  const notices = [{ problem: "Too much.", fix: "Set channels.toy.accounts.default.pace." }];
  expect(row()).toMatchObject({ lifecycle: "running", connected: true, notices });
  await channels.restart(TOY, DEFAULT_ACCOUNT);
  expect(row().notices).toBeUndefined();
  await clock.pass(1);
  toy.host.report({ kind: "notices", notices });
  toy.host.report({ kind: "notices", notices: [] });
  expect(row().notices).toBeUndefined();
});

test("closing ends an unfinished connect, and is not held up by a link that never closes", async () => {
  const toy = new Toy();
  const { channels, clock } = run(toy);
  await clock.pass(1);
  toy.link.close = async () => new Promise(() => undefined);
  const closing = channels.close();
  await clock.pass(6000);
  await closing;
  expect(toy.host.signal.aborted).toBe(true);
  expect(channels.status()[0]?.lifecycle).toBe("stopped");
});

test("a disabled account is listed and not started; put starts it, remove ends it", async () => {
  const toy = new Toy();
  const { channels, clock, row } = run(toy, toy.account({ enabled: false }));
  await clock.pass(1000);
  expect(toy.hosts).toHaveLength(0);
  expect(row()).toMatchObject({ enabled: false, lifecycle: "stopped" });
  await channels.put(toy.account());
  await clock.pass(1);
  expect(toy.hosts).toHaveLength(1);
  await channels.remove(TOY, DEFAULT_ACCOUNT);
  expect([channels.status(), toy.closed]).toEqual([[], 1]);
  await expect(channels.restart(TOY, DEFAULT_ACCOUNT)).rejects.toMatchObject({ code: "CHANNEL_MISSING" });
});

test("a refusal to store reaches the adapter, and times are noted", async () => {
  const toy = new Toy();
  const { channels, clock, row } = run(toy, toy.account(), async () => Promise.reject(new Error("disk full")));
  await clock.pass(1);
  await expect(toy.host.receive([message()])).rejects.toThrow("disk full");
  const link = channels.link(TOY, DEFAULT_ACCOUNT)!;
  expect(link.edit).toBeUndefined();
  const part = { kind: "text", body: "x", plain: "x", format: "plain" } as const;
  await link.send(message().from, part, { idempotencyKey: "k" });
  expect(row().lastInboundAt).toBe(clock.now());
  expect(row().lastOutboundAt).toBe(clock.now());
});

test("channels.status has the protocol's shape", async () => {
  const toy = new Toy();
  const { channels } = run(toy);
  const [status] = methods(() => channels.status());
  expect(await status?.run({}, caller)).toMatchObject({
    channelOrder: ["toy"],
    channelLabels: { toy: "Toy" },
    channels: { toy: { running: true, connected: false } },
    channelAccounts: {
      toy: [{ accountId: "default", enabled: true, configured: true, lifecycle: "starting", lastInboundAt: null }],
    },
    channelDefaultAccountId: { toy: "default" },
  });
});

test("checks report which account answers, what is wrong and what is disabled", async () => {
  const toy = new Toy();
  const look = async (account: ConfiguredAccount, probe: () => Promise<string>) => {
    const [check] = channelChecks([{ ...account, adapter: { ...account.adapter, probe } }]);
    return (await check!.run(AbortSignal.timeout(1000)))[0];
  };
  expect(await look(toy.account(), async () => "@toy")).toMatchObject({ status: "ok", message: "answers as @toy" });
  const bad = new OpenClawError("CHANNEL_AUTH", { message: "Bad token.", fix: "Get another." });
  expect(await look(toy.account(), async () => Promise.reject(bad))).toMatchObject({
    status: "fail",
    fix: "Get another.",
  });
  expect(await look(toy.account(), async () => Promise.reject(new Error("offline")))).toMatchObject({ status: "warn" });
  const down = new NotNow("nobody answers", { fix: "Start channels.toy.url." });
  expect(await look(toy.account({ isNamed: true }), async () => Promise.reject(down))).toMatchObject({
    status: "warn",
    fix: "Start channels.toy.accounts.default.url.",
  });
  expect(await look(toy.account({ enabled: false }), async () => "x")).toMatchObject({ status: "skip" });
});

test("the status has the start of a lifecycle, the next attempt and the length of the silence", async () => {
  const toy = new Toy();
  const { clock, row } = run(toy);
  await clock.pass(1);
  expect(row()).toMatchObject({ silentMs: null, retryAt: null });
  toy.host.report({ kind: "alive" });
  const since = clock.now();
  await clock.pass(4000);
  expect(row()).toMatchObject({ lifecycle: "running", lifecycleSince: since, silentMs: 4000, retryAt: null });
  await toy.host.receive([message()]);
  expect(row().silentMs).toBe(0);
  toy.host.report({ kind: "trouble", reason: "no network", retryInMs: 500 });
  expect(row()).toMatchObject({ lifecycleSince: clock.now(), retryAt: clock.now() + 500 });
});

test("an adapter gets no folder or route in a process without them, and fetches files only safely", async () => {
  const toy = new Toy();
  const { clock } = run(toy);
  await clock.pass(1);
  await expect(toy.host.folder()).rejects.toMatchObject({ code: "CHANNEL_CONFIG" });
  expect(() => toy.host.serve("/hook", async () => ({ status: 200 }))).toThrow(/web requests/);
  await expect(toy.host.fetch("http://127.0.0.1:1/x")).rejects.toMatchObject({ code: "MEDIA_UNAVAILABLE" });
});

test("an account that turns out to be the bot of another one is stopped, and the other goes on", async () => {
  const toys = [new Toy(), new Toy(), new Toy()];
  const ports = { receive: async () => undefined, media: { read: async () => new Uint8Array() }, log: silent };
  const clock = new TestClock();
  const adapters = toys.map((toy, at) => ({ ...toy.account(), account: accountId(`a${at}`) }));
  const channels = startChannels({ ...ports, clock, values: memoryValues(), adapters });
  open.push(channels);
  await clock.pass(1);
  for (const [at, toy] of toys.entries())
    toy.host.report({ kind: "alive", self: { id: at < 2 ? "1" : "2", name: "@toy" } });
  await clock.pass(1);
  expect(channels.status().map(({ lifecycle, lastError }) => [lifecycle, lastError])).toEqual([
    ["running", null],
    ["dead", "Account a0 is connected as @toy too"],
    ["running", null],
  ]);
  expect(toys.map(({ closed }) => closed)).toEqual([0, 1, 0]);
});
