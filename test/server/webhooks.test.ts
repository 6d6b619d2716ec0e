import { connect, Socket } from "node:net";
import { once } from "node:events";
import { IncomingMessage, ServerResponse } from "node:http";
import { afterEach, expect, test } from "vitest";
import { Peers } from "../../src/server/remote-peer.ts";
import { Webhooks } from "../../src/server/webhooks/webhooks.ts";
import type { WebhookAnswer, WebhookRequest } from "../../src/types/chat/channel.ts";
import type { Log } from "../../src/types/log.ts";
import { TestClock } from "../kit/toy-channel.ts";
import { startTestServer, type TestServer } from "../kit/server/server.ts";

const silent: Log = { debug() {}, info() {}, warn() {}, error() {}, with: () => silent };
let gateway: TestServer | undefined;
afterEach(() => gateway?.server.close(100));

async function start(trustedProxies: readonly string[] = []) {
  const clock = new TestClock();
  const webhooks = new Webhooks(clock, silent);
  gateway = await startTestServer({ ports: { webhooks }, access: { trustedProxies } });
  const { http } = gateway;
  const post = (path: string, body: string | Uint8Array<ArrayBuffer> = "{}", headers: Record<string, string> = {}) =>
    fetch(`${http}${path}`, { method: "POST", body, headers });
  return { clock, webhooks, post, http };
}

const ok = async (): Promise<WebhookAnswer> => ({ status: 200, body: "taken" });

test("a request reaches its channel unchanged, without the gateway's token and under any host name", async () => {
  const { webhooks, http } = await start();
  const seen: WebhookRequest[] = [];
  webhooks.serve(
    "/hooks/slack",
    async (request) => {
      seen.push(request);
      return { status: 202, headers: { "x-own": "yes" }, body: "thanks" };
    },
    new AbortController().signal,
  );
  const body = Uint8Array.from([0, 255, 10, 34]);
  const answer = await fetch(`${http}/hooks/slack?token=theirs&a=1`, {
    method: "POST",
    body,
    headers: { "X-Slack-Signature": "v0=ab", host: "hooks.example.org" },
  });
  expect(answer.status).toBe(202);
  expect(answer.headers.get("x-own")).toBe("yes");
  expect(await answer.text()).toBe("thanks");
  expect(seen).toHaveLength(1);
  expect(seen[0]).toMatchObject({
    method: "POST",
    query: { token: "theirs", a: "1" },
    headers: { "x-slack-signature": "v0=ab" },
  });
  expect([...(seen[0]?.body ?? [])]).toEqual([...body]);
  expect(webhooks.metrics()).toEqual([
    expect.objectContaining({ value: 1, labels: { path: "/hooks/slack", status: "202" } }),
  ]);
});

test("exactly the paths that channels serve are answered", async () => {
  const { webhooks, post, http } = await start();
  webhooks.serve("/hooks/slack", ok, new AbortController().signal);
  for (const path of ["/hooks", "/hooks/slack/", "/hooks/slack/x", "/HOOKS/slack", "/hooks//slack", "/other"]) {
    expect((await post(path)).status, path).toBe(404);
  }
  expect((await fetch(`${http}/hooks/slack`, { method: "PUT", body: "x" })).status).toBe(405);
  expect((await fetch(`${http}/hooks/slack`)).status).toBe(200);
});

test.each(["/", "/healthz", "/metrics", "/v1/models", "/page.js", "hooks", "/a b", "/a/../b/", "/%2e"])(
  "the path %s cannot be used",
  async (path) => {
    const { webhooks } = await start();
    expect(() => webhooks.serve(path, ok, new AbortController().signal)).toThrow(/The path/);
  },
);

test("a path belongs to one account; a channel that restarts serves it again, and gives it up when it stops", async () => {
  const { webhooks, post, clock } = await start();
  const first = new AbortController();
  webhooks.serve("/hook", ok, first.signal);
  expect(() => webhooks.serve("/hook", ok, new AbortController().signal)).toThrow(/taken by another account/);
  first.abort();
  const meanwhile = await post("/hook");
  expect([meanwhile.status, meanwhile.headers.get("retry-after")]).toEqual([503, "5"]);
  const second = new AbortController();
  webhooks.serve("/hook", async () => ({ status: 200, body: "second" }), second.signal);
  expect(await (await post("/hook")).text()).toBe("second");
  second.abort();
  await clock.pass(60_000);
  expect((await post("/hook")).status).toBe(404);
});

test("a body that is too large, a failing adapter and a late one are answered", async () => {
  const { webhooks, post, clock } = await start();
  const signal = new AbortController().signal;
  webhooks.serve("/large", ok, signal);
  webhooks.serve("/broken", () => Promise.reject(new Error("disk full")), signal);
  const asked = Promise.withResolvers<void>();
  const never = Promise.withResolvers<WebhookAnswer>();
  webhooks.serve(
    "/late",
    () => {
      asked.resolve();
      return never.promise;
    },
    signal,
  );
  expect((await post("/large", new Uint8Array(1_048_577))).status).toBe(413);
  expect((await post("/large", new Uint8Array(1_048_576))).status).toBe(200);
  expect((await post("/broken")).status).toBe(503);
  const late = post("/late");
  await asked.promise;
  await clock.pass(30_000);
  expect((await late).status).toBe(503);
});

test("a body that does not arrive is given up", async () => {
  const { webhooks, clock } = await start();
  let calls = 0;
  webhooks.serve("/slow", async () => ({ status: 200, body: String(calls++) }), new AbortController().signal);
  const socket = connect(gateway?.server.port ?? 0, "127.0.0.1");
  socket.write("POST /slow HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc");
  let text = "";
  socket.on("data", (data) => (text += data.toString()));
  const closed = once(socket, "close");
  while (!text) await clock.pass(1000);
  await closed;
  expect(text).toContain("408 Request Timeout");
  expect(calls).toBe(0);
});

test("a sender of too many refused requests is locked out; callers of a trusted proxy count separately", async () => {
  const { webhooks, post, clock } = await start(["127.0.0.1"]);
  webhooks.serve(
    "/hook",
    async ({ headers }) => ({ status: headers["x-ok"] ? 200 : 401 }),
    new AbortController().signal,
  );
  const from = (address: string, headers: Record<string, string> = {}) =>
    post("/hook", "{}", { "x-forwarded-for": `198.51.100.1, ${address}`, ...headers });
  for (let n = 0; n < 60; n++) expect((await from("203.0.113.9")).status).toBe(401);
  const rests = await from("203.0.113.9", { "x-ok": "1" });
  expect([rests.status, rests.headers.get("retry-after")]).toEqual([429, "60"]);
  expect((await from("203.0.113.10", { "x-ok": "1" })).status).toBe(200);
  await clock.pass(60_000);
  expect((await from("203.0.113.9", { "x-ok": "1" })).status).toBe(200);
});

test("a forwarded header of a peer that no one named is not believed: it neither locks out another sender nor evades a lockout", async () => {
  const { webhooks, post } = await start();
  const judge = async ({ headers }: WebhookRequest) => ({ status: headers["x-ok"] ? 200 : 401 });
  webhooks.serve("/hook", judge, new AbortController().signal);
  const named = { "x-forwarded-for": "203.0.113.9" };
  for (let n = 0; n < 61; n++) expect((await post("/hook", "{}", named)).status).toBe(401);
  expect((await post("/hook", "{}", { ...named, "x-ok": "1" })).status).toBe(200);
  // Without a proxy's mark it is a program of this machine, which rests as anybody does.
  for (let n = 0; n < 60; n++) expect((await post("/hook")).status).toBe(401);
  expect((await post("/hook", "{}", { "x-ok": "1" })).status).toBe(429);
});

test("a sender cannot change by headers how its requests are counted", async () => {
  const { webhooks } = await start();
  const peers = new Peers([]);
  webhooks.serve("/hook", async () => ({ status: 401 }), new AbortController().signal);
  const statusFor = async (remoteAddress: string, forwarded: string) => {
    const request = Object.assign(new IncomingMessage(new Socket()), { method: "POST", url: "/hook", complete: true });
    request.push(null);
    const response = new ServerResponse(request);
    const peer = peers.of({ socket: { remoteAddress }, headers: { "x-forwarded-for": forwarded } });
    await webhooks.take("/hook", request, response, peer);
    return response.statusCode;
  };
  for (let n = 0; n < 60; n++) expect(await statusFor("198.51.100.7", `203.0.113.${n}`)).toBe(401);
  expect(await statusFor("198.51.100.7", "203.0.113.99")).toBe(429);
  expect(await statusFor("198.51.100.8", "203.0.113.99")).toBe(401);
});

test("an invalid header ends only that request", async () => {
  const { webhooks, post } = await start();
  webhooks.serve(
    "/hooks/odd",
    async () => ({ status: 200, headers: { "x-odd": "a\nb" } }),
    new AbortController().signal,
  );
  webhooks.serve("/hooks/ok", ok, new AbortController().signal);
  expect((await post("/hooks/odd")).status).toBe(500);
  expect((await post("/hooks/ok")).status).toBe(200);
});
