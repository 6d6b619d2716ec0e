import { validateRequestFrame } from "@openclaw/gateway-protocol";
import type { Log } from "../../src/types/log.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { connectParams, RawClient, startTestServer, TOKEN, type TestServer } from "../kit/server/server.ts";
import { expectShape } from "./shapes.ts";

let gateway: TestServer;
beforeAll(async () => {
  gateway = await startTestServer();
});
afterAll(() => gateway.server.close(100));

const wrong = { auth: { token: "wrong" } };

test("a client with the token is let in and gets the hello message", async () => {
  const client = new RawClient(gateway.url);
  const challenge = await client.event("connect.challenge");
  expect(challenge["payload"]).toMatchObject({ nonce: expect.stringMatching(/.{16}/), ts: expect.any(Number) });
  expect(validateRequestFrame({ type: "req", id: "1", method: "connect", params: connectParams() })).toBe(true);
  const answer = await client.connect();
  expect(answer).toMatchObject({
    ok: true,
    payload: {
      type: "hello-ok",
      protocol: 4,
      auth: { role: "operator", scopes: ["operator.admin"] },
      policy: { maxPayload: 26_214_400, maxBufferedBytes: 52_428_800, tickIntervalMs: 15_000 },
    },
  });
  expectShape("HelloOk", answer["payload"]);
  expectShape("ResponseFrame", answer);
  expectShape("EventFrame", challenge);
  client.close();
});

test("the features name the available methods", async () => {
  const client = new RawClient(gateway.url);
  const answer = await client.connect();
  expect(answer).toMatchObject({
    payload: {
      features: {
        methods: expect.arrayContaining(["health", "chat.send", "chat.history", "agent.wait", "sessions.list"]),
        events: expect.arrayContaining(["chat", "agent", "tick", "shutdown", "pairing.requested"]),
      },
    },
  });
  client.close();
});

test("a client that requests no scopes may read and write", async () => {
  const client = new RawClient(gateway.url);
  const answer = await client.connect({ scopes: [] });
  expect(answer).toMatchObject({ payload: { auth: { scopes: ["operator.read", "operator.write"] } } });
  client.close();
});

test("unknown scopes are not granted", async () => {
  const client = new RawClient(gateway.url);
  const answer = await client.connect({ scopes: ["operator.read", "operator.everything"] });
  expect(answer).toMatchObject({ payload: { auth: { scopes: ["operator.read"] } } });
  client.close();
});

test.each([
  ["no token", { auth: {} }, "AUTH_TOKEN_MISSING", 1008],
  ["a wrong token", wrong, "AUTH_TOKEN_MISMATCH", 1008],
  ["a password where none is set", { auth: { password: "x" } }, "AUTH_PASSWORD_MISMATCH", 1008],
  ["another protocol", { minProtocol: 5, maxProtocol: 6 }, "PROTOCOL_MISMATCH", 1002],
  ["the node role", { role: "node" }, "ROLE_NOT_SERVED", 1008],
])("%s is refused with its reason", async (_name, params, code, closeCode) => {
  const own = await startTestServer();
  const client = new RawClient(own.url);
  const answer = await client.connect(params);
  expect(answer).toMatchObject({ ok: false, error: { code: "INVALID_REQUEST", details: { code } } });
  expectShape("ResponseFrame", answer);
  expect(await client.closed).toMatchObject({ code: closeCode });
  expect(own.server.connections()).toBe(0);
  await own.server.close(100);
});

test("a client of protocol 3 is answered in protocol 3, and one that speaks more gets version 4", async () => {
  for (const [minProtocol, maxProtocol, protocol] of [
    [3, 3, 3],
    [2, 4, 4],
    [3, 9, 4],
  ]) {
    const client = new RawClient(gateway.url);
    expect(await client.connect({ minProtocol, maxProtocol })).toMatchObject({ ok: true, payload: { protocol } });
    client.close();
  }
});

test("a client of an older protocol reads which versions there are", async () => {
  const client = new RawClient(gateway.url);
  const details = { clientMinProtocol: 1, clientMaxProtocol: 2, expectedProtocol: 4, minimumProbeProtocol: 3 };
  expect(await client.connect({ minProtocol: 1, maxProtocol: 2 })).toMatchObject({
    error: { message: "protocol mismatch: this gateway speaks 3 to 4, the client 1 to 2", details },
  });
});

test("the password lets in as the token does", async () => {
  const { Secret } = await import("../../src/types/secret.ts");
  const own = await startTestServer({ access: { password: new Secret("open sesame") } });
  const client = new RawClient(own.url);
  expect(await client.connect({ auth: { password: "open sesame" } })).toMatchObject({ ok: true });
  await own.server.close(100);
});

test("an address that guesses is locked out, with the right token too, on loopback too", async () => {
  let now = 1_000;
  const own = await startTestServer({ ports: { clock: { now: () => now, after: () => () => undefined } } });
  const answers = [];
  for (const params of [wrong, wrong, wrong, {}]) {
    const client = new RawClient(own.url);
    answers.push(await client.connect(params));
    client.close();
  }
  expect(answers[2]).toMatchObject({ error: { details: { code: "AUTH_TOKEN_MISMATCH" } } });
  expect(answers[3]).toMatchObject({
    ok: false,
    error: { code: "RATE_LIMITED", retryAfterMs: 300_000, details: { code: "AUTH_RATE_LIMITED" } },
  });
  const locked = await fetch(`${own.http}/v1/models`, { headers: { authorization: `Bearer ${TOKEN}` } });
  expect(locked.status).toBe(429);
  now += 300_000;
  const client = new RawClient(own.url);
  expect(await client.connect()).toMatchObject({ ok: true });
  await own.server.close(100);
});

test.each([
  ["another method", { type: "req", id: "1", method: "health", params: {} }],
  ["no frame at all", "hello"],
])("the first frame being %s ends the connection", async (_name, frame) => {
  const client = new RawClient(gateway.url);
  await client.event("connect.challenge");
  client.send(frame);
  expect(await client.until((item) => item["type"] === "res")).toMatchObject({ error: { code: "INVALID_REQUEST" } });
  expect(await client.closed).toMatchObject({ code: 1008 });
});

test("a first frame above 64 KiB ends the connection", async () => {
  const client = new RawClient(gateway.url);
  await client.event("connect.challenge");
  client.send({
    type: "req",
    id: "1",
    method: "connect",
    params: { ...connectParams(), userAgent: "x".repeat(70_000) },
  });
  expect([1009, 1006]).toContain((await client.closed).code);
});

test("a client cannot fill the memory before its handshake", async () => {
  const client = new RawClient(gateway.url);
  await client.event("connect.challenge");
  client.send("x".repeat(5_000_000));
  expect((await client.closed).code).not.toBe(1000);
  expect(client.frames.filter((frame) => frame["type"] === "res")).toEqual([]);
});

test.each([
  ["the page's own origin", (port: number) => `http://127.0.0.1:${port}`, true],
  ["a configured origin", () => "https://chat.example.org", true],
  ["another site", () => "https://evil.example", false],
  ["another port of this machine", () => "http://127.0.0.1:1", false],
  ["a prefix of a configured origin", () => "https://chat.example.org.evil.example", false],
  ["an opaque origin", () => "null", false],
])("a browser at %s", async (_name, origin, isAllowed) => {
  const client = new RawClient(gateway.url, { origin: origin(gateway.server.port) });
  if (isAllowed) expect(await client.connect()).toMatchObject({ ok: true });
  else expect(await client.closed).toMatchObject({ code: 1006 });
  client.close();
});

test("a refused upgrade is logged with its reason on one line", async () => {
  const refusals: unknown[] = [];
  const quiet = { debug() {}, info() {}, error() {} };
  const log: Log = { ...quiet, warn: (message, fields) => refusals.push([message, fields?.["why"]]), with: () => log };
  const own = await startTestServer({ ports: { log } });
  const client = new RawClient(own.url, { host: "rebound.example" });
  expect(await client.closed).toMatchObject({ code: 1006 });
  expect(refusals).toEqual([["upgrade refused", expect.stringMatching(/^This gateway is not known .+1\.$/)]]);
  await own.server.close(100);
});

test("a foreign host name is refused on loopback", async () => {
  const client = new RawClient(gateway.url, { host: `rebound.example:${gateway.server.port}` });
  expect(await client.closed).toMatchObject({ code: 1006 });
});

test("a token in the URL is refused and not used", async () => {
  const client = new RawClient(`${gateway.url}/?token=${TOKEN}`);
  expect(await client.closed).toMatchObject({ code: 1006 });
  const page = await fetch(`${gateway.http}/?token=${TOKEN}`);
  expect(page.status).toBe(400);
  expect(await page.text()).toContain("not accepted");
});
