import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { afterEach, expect, test } from "vitest";
import { Webhooks } from "../../src/server/webhooks/webhooks.ts";
import type { Log } from "../../src/types/log.ts";
import { Secret } from "../../src/types/secret.ts";
import { TestClock } from "../kit/toy-channel.ts";
import { connectParams, RawClient, startTestServer, TOKEN, type TestServer } from "../kit/server/server.ts";

const silentLog: Log = { debug() {}, info() {}, warn() {}, error() {}, with: () => silentLog };
let gateway: TestServer;
const sockets: Socket[] = [];

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await gateway.server.close(100);
});

const UPGRADE = [
  "GET / HTTP/1.1",
  "Host: 127.0.0.1",
  "Connection: Upgrade",
  "Upgrade: websocket",
  "Sec-WebSocket-Version: 13",
  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
];

/** A WebSocket that never says who it is, with headers as a proxy adds them. */
async function silent(headers: readonly string[] = []): Promise<Socket> {
  const socket = connect(gateway.server.port, "127.0.0.1");
  sockets.push(socket);
  socket.on("error", () => undefined);
  socket.write(`${[...UPGRADE, ...headers].join("\r\n")}\r\n\r\n`);
  await once(socket, "data");
  return socket;
}

async function isLetIn(token = TOKEN, headers: Record<string, string> = {}): Promise<boolean> {
  const client = new RawClient(gateway.url, headers);
  const answer = await Promise.race([client.connect(connectParams(token)), client.closed]);
  client.close();
  return "ok" in answer && answer["ok"] === true;
}

const guess = (token: string, headers: Record<string, string>) =>
  fetch(`${gateway.http}/v1/models`, { headers: { authorization: `Bearer ${token}`, ...headers } }).then(
    async (answer) => {
      await answer.body?.cancel();
      return answer.status;
    },
  );

test("150 silent sockets of this machine keep no operator out", async () => {
  gateway = await startTestServer();
  for (let at = 0; at < 150; at++) await silent();
  expect(await isLetIn()).toBe(true);
});

test("150 silent sockets through a proxy keep neither its other visitors nor this machine out", async () => {
  gateway = await startTestServer({ access: { trustedProxies: ["127.0.0.1"] } });
  for (let at = 0; at < 150; at++) await silent(["X-Forwarded-For: 198.51.100.7"]);
  expect(await isLetIn(TOKEN, { "x-forwarded-for": "203.0.113.5" })).toBe(true);
  expect(await isLetIn()).toBe(true);
});

test.each([
  ["to this machine", []],
  ["through a proxy that nobody named", ["X-Forwarded-For: 198.51.100.7"]],
])("200 slow bodies %s keep no platform out of a webhook", async (_, headers) => {
  const webhooks = new Webhooks(new TestClock(), silentLog);
  webhooks.serve("/hook", async () => ({ status: 200 }), new AbortController().signal);
  gateway = await startTestServer({ ports: { webhooks } });
  const head = ["POST /hook HTTP/1.1", "Host: x", "Content-Length: 100", ...headers].join("\r\n");
  const answered: Promise<unknown>[] = [];
  for (let at = 0; at < 200; at++) {
    const socket = connect(gateway.server.port, "127.0.0.1");
    sockets.push(socket);
    socket.on("error", () => undefined);
    socket.write(`${head}\r\n\r\n{`);
    answered.push(once(socket, "data"));
  }
  // Some of them are turned away: all that are let in at once are there.
  await Promise.race(answered);
  const named = { "x-forwarded-for": "149.154.160.1" };
  const platform = await fetch(`${gateway.http}/hook`, { method: "POST", body: "{}", headers: named });
  expect(platform.status).toBe(200);
});

test("a client that guesses through a trusted proxy is locked out alone", async () => {
  gateway = await startTestServer({ access: { trustedProxies: ["127.0.0.1"] } });
  const guesser = { "x-forwarded-for": "198.51.100.7" };
  const statuses = [];
  for (let at = 0; at < 6; at++) statuses.push(await guess(`wrong-${at}`, guesser));
  expect(statuses).toEqual([401, 401, 401, 429, 429, 429]);
  expect(await guess(TOKEN, { "x-forwarded-for": "203.0.113.5" })).toBe(200);
  expect(await guess(TOKEN, {})).toBe(200);
});

test("a guesser that mixes its guesses with an honest client's calls is locked", async () => {
  gateway = await startTestServer({ access: { password: new Secret("pass") } });
  const statuses = [];
  for (let at = 0; at < 8; at++) {
    statuses.push(await guess(`wrong-${at}`, {}));
    await guess(TOKEN, {});
  }
  expect(statuses.filter((status) => status === 429).length).toBe(5);
});

test.each([
  "x-real-ip",
  "via",
  "x-forwarded-host",
  "x-forwarded-proto",
  "cf-connecting-ip",
  "forwarded",
  "x-forwarded-for",
])("metrics and problems are not shown to a client with %s", async (name) => {
  gateway = await startTestServer({ reports: { ready: () => ({ ok: false, problems: ["the disk is full"] }) } });
  expect((await fetch(`${gateway.http}/metrics`)).status).toBe(200);
  expect((await fetch(`${gateway.http}/metrics`, { headers: { [name]: "x" } })).status).toBe(401);
  expect(await (await fetch(`${gateway.http}/readyz`, { headers: { [name]: "x" } })).json()).toEqual({ ok: false });
});

test("a body without the token is answered at once and not read", async () => {
  gateway = await startTestServer();
  const socket = connect(gateway.server.port, "127.0.0.1");
  sockets.push(socket);
  socket.on("error", () => undefined);
  socket.write("POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 25000000\r\n\r\n");
  const [head] = await once(socket, "data");
  expect(String(head)).toMatch(/^HTTP\/1\.1 401 [^]*connection: close/i);
  let written = 0;
  const closed = new Promise((resolve) => socket.once("close", resolve));
  const more = () => {
    while (written < 25_000_000 && !socket.destroyed) {
      written += 65_536;
      if (!socket.write(Buffer.alloc(65_536))) return void socket.once("drain", more);
    }
  };
  more();
  await closed;
  expect(socket.bytesWritten).toBeLessThan(25_000_000);
});
