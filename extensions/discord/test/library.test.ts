import { spawn } from "node:child_process";
import { once } from "node:events";
import { REST } from "@discordjs/rest";
import { WebSocketManager, WebSocketShardEvents } from "@discordjs/ws";
import type { CreateWebSocketManagerOptions, SessionInfo } from "@discordjs/ws";
import { afterEach, expect, test, vi } from "vitest";
import { startFakeDiscord } from "./fake-discord.ts";
import type { FakeDiscord } from "./fake-discord.ts";
import { silentGateway } from "./silent-gateway.ts";
import { PATIENCE } from "../../../test/kit/until.ts";

// What `@discordjs/ws` does alone, and `gateway/` does instead. When an update of the library fails one of these tests, the code
// for it can go: docs/decisions/0014-discord-gateway-library.md.
const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

async function fakeDiscord(): Promise<FakeDiscord> {
  const fake = await startFakeDiscord();
  closing.push(() => fake.close());
  return fake;
}

/** The library with its own defaults; sessions are kept in `sessions`. */
function managerFor(fake: FakeDiscord, sessions: (SessionInfo | null)[], more = {}): WebSocketManager {
  const options: CreateWebSocketManagerOptions = {
    token: fake.token,
    intents: (1 << 0) | (1 << 9) | (1 << 15),
    rest: new REST({ api: fake.config.apiUrl, version: "10" }).setToken(fake.token),
    retrieveSessionInfo: () => sessions.at(-1) ?? null,
    updateSessionInfo: (_, session) => void sessions.push(session),
    ...more,
  };
  const manager = new WebSocketManager(options);
  manager.on(WebSocketShardEvents.Error, () => undefined);
  closing.push(() => manager.destroy());
  return manager;
}

test("the library drops its session when the gateway cannot be reached", async () => {
  const fake = await fakeDiscord();
  const sessions: (SessionInfo | null)[] = [];
  await managerFor(fake, sessions).connect();
  await fake.goDown();
  await vi.waitFor(() => expect(sessions.at(-1)).toBe(null), PATIENCE);
  await fake.comeBack();
  await vi.waitFor(() => expect(fake.gateway.connections).toBe(1), PATIENCE);
});

test("the library moves the number of the last event before a listener has seen that event", async () => {
  const fake = await fakeDiscord();
  const sessions: (SessionInfo | null)[] = [];
  const manager = managerFor(fake, sessions);
  await manager.connect();
  const seen = new Promise<number | undefined>((resolve) => {
    manager.on(WebSocketShardEvents.Dispatch, ({ data }) => {
      if (data.t === "MESSAGE_CREATE") resolve(sessions.at(-1)?.sequence);
    });
  });
  fake.say("901", "not stored yet");
  expect(await seen).toBe(3);
});

test("the library does not resume while Discord lets the bot begin no session", async () => {
  const fake = await fakeDiscord();
  const sessions: (SessionInfo | null)[] = [];
  const first = managerFor(fake, sessions);
  await first.connect();
  await first.destroy({ code: 4200 });
  fake.world.starts.remaining = 0;
  const kept = sessions.filter((session) => session !== null);
  await expect(managerFor(fake, kept).connect()).rejects.toThrow("Not enough sessions");
});

test("the library begins a session beyond Discord's limit, which costs the bot its token", async () => {
  const fake = await fakeDiscord();
  const forgotten = { sessionId: "1", resumeURL: fake.world.url.replace("http", "ws"), sequence: 1, shardId: 0 };
  const sessions: (SessionInfo | null)[] = [{ ...forgotten, shardCount: 1 }];
  Object.assign(fake.world.starts, { remaining: 1 });
  const manager = managerFor(fake, sessions);
  manager.on(WebSocketShardEvents.Hello, () => {
    fake.world.starts.remaining = 0;
  });
  await expect(manager.connect()).rejects.toThrow("Authentication failed");
});

/** Runs the library in its own process, where it may do as it likes. Resolves when that process ended. */
async function runAlone(url: string, token: string, then = ""): Promise<{ code: number | null; errors: string }> {
  const info = { url, shards: 1, session_start_limit: { total: 9, remaining: 9, reset_after: 0, max_concurrency: 1 } };
  const script = `
    import { WebSocketManager } from "@discordjs/ws";
    const rest = { get: async () => (${JSON.stringify(info)}) };
    const token = ${JSON.stringify(token)};
    const manager = new WebSocketManager({ token, intents: 33281, rest, handshakeTimeout: 1000 });
    manager.on("error", () => undefined);
    manager.connect().catch(() => undefined);
    ${then}
  `;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], { stdio: ["ignore", "ignore", "pipe"] });
  closing.push(() => child.kill());
  let errors = "";
  child.stderr.on("data", (chunk: Buffer) => void (errors += chunk.toString()));
  const [code] = (await once(child, "close")) as [number | null];
  return { code, errors };
}
/** Closes the library as soon as its socket is in a state of `WebSocket.readyState`. */
const closeWhen = (state: number): string => `
  const timer = setInterval(() => {
    if (manager.strategy.shards.get(0)?.connection?.readyState !== ${state}) return;
    clearInterval(timer);
    manager.destroy();
  }, 20);`;

test("the library ends the process when it is closed before its connection is open", async () => {
  const gateway = await silentGateway(false);
  closing.push(gateway.close);
  const { code, errors } = await runAlone(gateway.url, "x", closeWhen(0));
  expect(errors).toContain("Unhandled 'error' event");
  expect(code).toBe(1);
});

test("the library connects again after it was closed while it waited for HELLO", async () => {
  const gateway = await silentGateway(true);
  closing.push(gateway.close);
  const ended = runAlone(gateway.url, "x", closeWhen(1));
  await vi.waitFor(() => expect(gateway.connections()).toBe(2), PATIENCE);
  for (const close of closing.splice(0).toReversed()) await close();
  await ended;
});

test("the library ends the process when a frame lacks a field", async () => {
  const fake = await fakeDiscord();
  const ended = runAlone(fake.world.url.replace("http", "ws"), fake.token);
  await vi.waitFor(() => expect(fake.gateway.said).not.toEqual([]), PATIENCE);
  fake.gateway.say('{"op":9}');
  const { code, errors } = await ended;
  expect(errors).toContain("TypeError");
  expect(code).toBe(1);
});
