import { spawn } from "node:child_process";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { App, LogLevel } from "@slack/bolt";
import { afterEach, describe, expect, test, vi } from "vitest";
import { WebSocketServer } from "ws";
import { startFakeSlack } from "../../extensions/slack/test/fake-slack.ts";
import type { FakeSlack } from "../../extensions/slack/test/fake-slack.ts";
import { Journal, openLibrary, startAdapter, startLibrary } from "./slack-socket.ts";
import type { StartClient } from "./slack-socket.ts";

/** Decision 13: the faults for which the adapter has its own socket, shown on Slack's library as it is. */
const closers: (() => unknown)[] = [];
afterEach(async () => {
  vi.useRealTimers();
  for (const close of closers.splice(0).toReversed()) await close();
});

async function fakeSlack(): Promise<FakeSlack> {
  const fake = await startFakeSlack();
  closers.push(() => fake.close());
  return fake;
}

async function begin(start: StartClient) {
  const fake = await fakeSlack();
  const journal = new Journal();
  const client = await start(fake, journal);
  closers.push(() => client.stop());
  await expect.poll(() => fake.sockets, { interval: 5 }).toBe(1);
  return { fake, journal, client };
}

const opens = (fake: FakeSlack) => fake.calls.filter(({ method }) => method === "apps.connections.open").length;
const expectAcknowledged = (fake: FakeSlack) => expect.poll(() => fake.pending, { interval: 5 }).toEqual([]);
const expectOffered = (journal: Journal, ...texts: string[]) =>
  expect.poll(() => journal.offered, { interval: 5 }).toEqual(texts);

/** The smallest number of open sockets until Slack has greeted `count` of them. */
async function fewestSockets(fake: FakeSlack, count: number): Promise<number> {
  let fewest = Infinity;
  while (fake.greetings < count) {
    fewest = Math.min(fewest, fake.sockets);
    await new Promise((resolve) => setImmediate(resolve));
  }
  return fewest;
}

/** A host of sockets that answers pings and never greets. */
async function muteHost(): Promise<WebSocketServer> {
  const server = new WebSocketServer({ port: 0, host: "127.0.0.1" });
  await new Promise((resolve) => server.once("listening", resolve));
  closers.push(() => {
    for (const socket of server.clients) socket.terminate();
    server.close();
  });
  return server;
}

const clients = [
  ["our adapter", startAdapter],
  ["Slack's library", startLibrary],
] as const;

describe.each(clients)("%s", (_name, start) => {
  test("acknowledges an event after the journal has it", async () => {
    const { fake, journal } = await begin(start);
    const release = journal.hold();
    fake.say("D1", "hello");
    await expectOffered(journal, "hello");
    expect(fake.pending).toHaveLength(1);
    release();
    await expectAcknowledged(fake);
  });

  test("gets an event again when the socket drops before the acknowledgement", async () => {
    const { fake, journal } = await begin(start);
    const release = journal.hold();
    fake.say("D1", "hello");
    await expectOffered(journal, "hello");
    fake.cut();
    await expect.poll(() => fake.greetings, { interval: 5 }).toBe(2);
    release();
    await expectAcknowledged(fake);
    await expectOffered(journal, "hello", "hello");
  });

  test("connects again after apps.connections.open failed", async () => {
    const { fake, journal } = await begin(start);
    fake.fail("apps.connections.open", "500");
    fake.cut();
    fake.say("D1", "hello");
    await expectOffered(journal, "hello");
    expect(fake.greetings).toBe(2);
  });

  test("takes a frame of 8 MB", async () => {
    const { fake, journal } = await begin(start);
    fake.say("D1", "x".repeat(8_000_000));
    await expectAcknowledged(fake);
    expect(journal.offered[0]).toHaveLength(8_000_000);
  });
});

describe("a new socket that Slack asks for", () => {
  async function rotate(start: StartClient) {
    const { fake, journal } = await begin(start);
    fake.rotate("refresh_requested");
    const fewest = await fewestSockets(fake, 2);
    fake.say("D1", "afterwards");
    await expectOffered(journal, "afterwards");
    return fewest;
  }

  test("is greeted before our adapter leaves the old one", async () => {
    expect(await rotate(startAdapter)).toBe(1);
  });

  test("is opened by Slack's library after the old one is closed", async () => {
    expect(await rotate(startLibrary)).toBe(0);
  });

  test("leaves our adapter the old one for as long as apps.connections.open fails", async () => {
    const { fake, journal, client } = await begin(startAdapter);
    const release = journal.hold();
    fake.say("D1", "hello");
    await expectOffered(journal, "hello");
    fake.fail("apps.connections.open", "500", Infinity);
    fake.rotate("refresh_requested");
    await expect.poll(() => client.reports.at(-1), { interval: 5 }).toMatchObject({ kind: "trouble" });
    fake.say("D1", "meanwhile");
    release();
    await expectAcknowledged(fake);
    await expectOffered(journal, "hello", "meanwhile");
  });
});

describe("a token that Slack refuses while the client connects again", () => {
  test.each(["invalid_auth", "token_revoked"])("ends our adapter's account with a fix (%s)", async (word) => {
    const { fake, client } = await begin(startAdapter);
    fake.fail("apps.connections.open", word, Infinity);
    fake.cut();
    const dead = { kind: "dead", reason: expect.stringContaining(word), fix: expect.any(String) };
    await expect.poll(() => client.reports.at(-1), { interval: 5 }).toEqual(dead);
  });
});

/** docs.slack.dev/reference/events/app_rate_limited: a payload without an event. */
const ODD = { type: "app_rate_limited", team_id: "T1", minute_rate_limited: 1_518_467_820 };

test("our adapter acknowledges an envelope without an event", async () => {
  const { fake } = await begin(startAdapter);
  fake.deliver("events_api", ODD);
  await expectAcknowledged(fake);
  expect(fake.greetings).toBe(1);
});

describe("Slack's library in its own process", () => {
  test("rejects a promise that nobody can catch for an envelope without an event, and never acknowledges it", async () => {
    const fake = await fakeSlack();
    const { expectPrinted } = await runAlone(fake);
    fake.deliver("events_api", ODD);
    await expectPrinted("unhandled: Cannot read properties of undefined (reading 'type')");
    expect(fake.pending).toHaveLength(1);
  });

  test("asks on with a revoked token, and rejects such a promise for a wrong one, after which it never connects", async () => {
    const fake = await fakeSlack();
    const { expectPrinted, ended } = await runAlone(fake);
    fake.fail("apps.connections.open", "token_revoked", Infinity);
    fake.cut();
    await expect.poll(() => opens(fake), { interval: 5 }).toBeGreaterThan(2);
    fake.fail("apps.connections.open", "invalid_auth");
    await expectPrinted("unhandled: An API error occurred: invalid_auth");
    // The process ends by itself: nothing is left in it that would connect again.
    await ended;
  });
});

describe("a socket that opens and is never greeted", () => {
  test("is given up by our adapter after 15 seconds", async () => {
    const [fake, mute] = [await fakeSlack(), await muteHost()];
    fake.entrance = (mute.address() as AddressInfo).port;
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const client = await startAdapter(fake, new Journal());
    closers.push(() => client.stop());
    while (mute.clients.size === 0) await new Promise((resolve) => setImmediate(resolve));
    await vi.advanceTimersByTimeAsync(15_000);
    expect(client.reports.at(-1)).toMatchObject({ kind: "trouble", reason: "Slack did not greet in time" });
  });

  test("is kept by Slack's library, which waits on", async () => {
    const [fake, mute] = [await fakeSlack(), await muteHost()];
    fake.entrance = (mute.address() as AddressInfo).port;
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const client = openLibrary(fake, 5000);
    closers.push(() => client.disconnect());
    let isSettled = false;
    const settle = () => (isSettled = true);
    client.start().then(settle, settle);
    while (mute.clients.size === 0) await new Promise((resolve) => setImmediate(resolve));
    await vi.advanceTimersByTimeAsync(60 * 60_000);
    expect([isSettled, mute.clients.size, opens(fake)]).toEqual([false, 1, 1]);
  });
});

describe("a stop while it connects", () => {
  test("opens no socket of our adapter", async () => {
    const fake = await fakeSlack();
    const client = await startAdapter(fake, new Journal());
    await client.stop();
    expect([fake.sockets, fake.greetings]).toEqual([0, 0]);
  });

  test("does not keep Slack's library from opening one", async () => {
    const fake = await fakeSlack();
    const client = openLibrary(fake);
    const connected = client.start();
    await client.disconnect();
    await connected;
    expect(fake.sockets).toBe(1);
    await client.disconnect();
  });
});

test("Bolt with a receiver of ours acknowledges an event before its listener has it", async () => {
  const fake = await fakeSlack();
  const receiver = { init: () => undefined, start: async () => undefined, stop: async () => undefined };
  const clientOptions = { slackApiUrl: fake.url };
  const app = new App({ token: fake.botToken, receiver, clientOptions, logLevel: LogLevel.ERROR });
  const steps: string[] = [];
  app.message(async ({ message }) => void steps.push(`stored ${message.ts}`));
  const event = { type: "message", channel: "D1", channel_type: "im", user: "U1", text: "hello", ts: "1.1" };
  await app.processEvent({
    body: { type: "event_callback", team_id: "T1", event },
    ack: async () => void steps.push("acknowledged"),
  });
  expect(steps).toEqual(["acknowledged", "stored 1.1"]);
});

/** Slack's library in its own process, which prints what nobody caught. */
const PROGRAM = `
  import { SocketModeReceiver } from "@slack/bolt";
  const [slackApiUrl, appToken] = process.argv.slice(-2);
  const options = { appToken, logLevel: "fatal", clientPingTimeout: 250, installerOptions: { clientOptions: { slackApiUrl } } };
  process.on("unhandledRejection", (error) => console.log("unhandled: " + error.message));
  const { client } = new SocketModeReceiver(options);
  client.on("slack_event", ({ ack }) => ack());
  await client.start();
  console.log("connected");
`;

/** Resolves when the process is connected. */
async function runAlone(fake: FakeSlack) {
  const args = ["--input-type=module", "-e", PROGRAM, fake.url, fake.appToken];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  closers.push(() => child.kill("SIGKILL"));
  const ended = once(child, "exit");
  let output = "";
  child.stdout.on("data", (data: Buffer) => (output += data.toString()));
  const expectPrinted = (line: string) => expect.poll(() => output, { interval: 5 }).toContain(line);
  await expectPrinted("connected");
  return { expectPrinted, ended };
}
