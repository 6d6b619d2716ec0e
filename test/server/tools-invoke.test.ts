import { request } from "node:http";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import type { ToolCallOutcome, ToolCallRequest } from "../../src/types/chat/tool-call.ts";
import { startTestServer, TOKEN, type TestServer } from "../kit/server/server.ts";
import { until } from "../kit/until.ts";

/** The route alone; what a call passes on its way is played by the test. */
let gateway: TestServer;
let asked: ToolCallRequest[] = [];
let play: (request: ToolCallRequest) => Promise<ToolCallOutcome>;

beforeAll(async () => {
  const callTool = (call: ToolCallRequest) => (asked.push(call), play(call));
  gateway = await startTestServer({ ports: { callTool } });
});
beforeEach(() => {
  asked = [];
  play = async () => ({ kind: "done", result: { content: [{ type: "text", text: "fine" }], details: { n: 1 } } });
});
afterAll(() => gateway.server.close(200));

const invoke = (body: unknown, init: RequestInit = {}) =>
  fetch(`${gateway.http}/tools/invoke`, {
    method: "POST",
    headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
    body: typeof body === "string" ? body : JSON.stringify(body),
    ...init,
  });

test("a call returns the tool's result", async () => {
  const answer = await invoke({ tool: "sessions_list", action: "json", args: { limit: 3 }, unknown: 1 });
  expect([answer.status, await answer.json()]).toEqual([
    200,
    { ok: true, result: { content: [{ type: "text", text: "fine" }], details: { n: 1 } } },
  ]);
  expect(asked).toEqual([
    expect.objectContaining({
      tool: "sessions_list",
      action: "json",
      args: { limit: 3 },
      agentId: "main",
      sessionKey: "webchat:default:operator",
      isDryRun: false,
    }),
  ]);
});

test.each([
  [{ tool: "x", sessionKey: "main" }, "main", "webchat:default:operator"],
  [{ tool: "x", sessionKey: "agent:coder:telegram:default:42" }, "coder", "agent:coder:telegram:default:42"],
  [{ name: "x", agentId: "coder" }, "coder", "agent:coder:main"],
])("%j is a call in the session of its agent", async (body, agentId, sessionKey) => {
  expect((await invoke(body)).status).toBe(200);
  expect(asked).toEqual([expect.objectContaining({ tool: "x", agentId, sessionKey })]);
});

test.each([
  ["no JSON", "{"],
  ["no object", "[]"],
  ["no tool", {}],
  ["arguments that are no object", { tool: "x", args: [1] }],
  ["an unknown agent", { tool: "x", agentId: "nobody" }],
  ["the session of an unknown agent", { tool: "x", sessionKey: "agent:nobody:main" }],
  ["the session of another agent", { tool: "x", agentId: "coder", sessionKey: "main" }],
  ["the session of a subagent", { tool: "x", sessionKey: "agent:main:subagent:4711" }],
  ["a key that is no text", { tool: "x", idempotencyKey: 1 }],
])("%s is refused with 400, and no tool is called", async (_, body) => {
  const answer = await invoke(body);
  expect(answer.status).toBe(400);
  expect(await answer.json()).toEqual({
    ok: false,
    error: { type: "invalid_request", message: expect.stringMatching(/\w/) },
  });
  expect(asked).toEqual([]);
});

test("a repeated key gets the result of the first call, also when that client has gone, and no other call gets it", async () => {
  const ended = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<ToolCallRequest>();
  play = async (call) => {
    begun.resolve(call);
    await ended.promise;
    return { kind: "done", result: { content: [{ type: "text", text: "once" }] } };
  };
  const body = { tool: "x", args: { n: 1 }, idempotencyKey: "key-1" };
  const gone = new AbortController();
  const first = invoke(body, { signal: gone.signal }).catch(() => "gone");
  const { signal } = await begun.promise;
  gone.abort();
  expect(await first).toBe("gone");
  const second = invoke(body);
  ended.resolve();
  expect(await (await second).json()).toMatchObject({ ok: true, result: { content: [{ text: "once" }] } });
  expect([asked.length, signal.aborted]).toEqual([1, false]);
  const other = await invoke({ ...body, args: { n: 2 } });
  expect([other.status, asked.length]).toEqual([400, 1]);
});

test("a key whose call changed nothing may be used again", async () => {
  play = async () => ({ kind: "missing" });
  const body = { tool: "y", idempotencyKey: "key-2" };
  expect((await invoke(body)).status).toBe(404);
  play = async () => ({ kind: "done", result: { content: [] } });
  expect((await invoke(body)).status).toBe(200);
  expect(asked).toHaveLength(2);
});

test("a body without a content type, or with another one, is read as JSON", async () => {
  const headers = { authorization: `Bearer ${TOKEN}`, "content-type": "application/x-www-form-urlencoded" };
  expect((await invoke({ tool: "x" }, { headers })).status).toBe(200);
});

test("other methods get 405, whether they have the token or not", async () => {
  for (const headers of [{}, { authorization: `Bearer ${TOKEN}` }]) {
    const answer = await fetch(`${gateway.http}/tools/invoke`, { headers });
    expect([answer.status, answer.headers.get("allow")]).toEqual([405, "POST"]);
  }
});

test.each<[ToolCallOutcome, number, string]>([
  [{ kind: "missing" }, 404, "not_found"],
  [{ kind: "invalid", why: "no" }, 400, "invalid_request"],
  [{ kind: "looping", why: "again" }, 429, "tool_loop"],
  [{ kind: "done", result: { content: [{ type: "text", text: "no file" }], isError: true } }, 500, "tool_error"],
])("the outcome %j is answered with %i", async (outcome, status, type) => {
  play = async () => outcome;
  const answer = await invoke({ tool: "x" });
  expect([answer.status, await answer.json()]).toEqual([
    status,
    { ok: false, error: { type, message: expect.stringMatching(/\w/) } },
  ]);
});

test("a dry run says that the call would begin", async () => {
  play = async ({ tool }) => ({ kind: "fits", tool });
  expect(await (await invoke({ tool: "x", dryRun: true })).json()).toEqual({ ok: true, dryRun: true, tool: "x" });
  expect(asked).toEqual([expect.objectContaining({ isDryRun: true })]);
});

test("a failure of the gateway is answered without its text", async () => {
  play = () => Promise.reject(new Error("/home/ann/secret is broken"));
  const answer = await invoke({ tool: "x" });
  const text = await answer.text();
  expect(answer.status).toBe(500);
  expect(text).toContain("internal_error");
  expect(text).not.toContain("secret");
});

test("a body of more than 2 MB is refused with 413", async () => {
  const answer = await invoke({ tool: "x", args: { text: "x".repeat(2 * 1024 * 1024) } });
  expect([answer.status, await answer.json()]).toEqual([
    413,
    { ok: false, error: expect.objectContaining({ type: "too_large" }) },
  ]);
  expect(asked).toEqual([]);
});

test("more than 16 calls at a time are refused with 429", async () => {
  const { promise, resolve } = Promise.withResolvers<ToolCallOutcome>();
  play = () => promise;
  const running = Array.from({ length: 16 }, () => invoke({ tool: "x" }));
  await until(() => asked.length === 16, "the calls");
  const answer = await invoke({ tool: "x" });
  expect([answer.status, answer.headers.get("retry-after")]).toEqual([429, "1"]);
  resolve({ kind: "missing" });
  expect((await Promise.all(running)).map(({ status }) => status)).toEqual(Array.from({ length: 16 }, () => 404));
});

test("the call is aborted when its client disconnects", async () => {
  play = ({ signal }) =>
    new Promise((resolve) => signal.addEventListener("abort", () => resolve({ kind: "missing" }), { once: true }));
  const client = request(`${gateway.http}/tools/invoke`, {
    method: "POST",
    headers: { authorization: `Bearer ${TOKEN}` },
  });
  client.on("error", () => undefined);
  client.end(JSON.stringify({ tool: "x" }));
  await until(() => asked.length === 1, "the call");
  expect(asked[0]?.signal.aborted).toBe(false);
  client.destroy();
  await until(() => asked[0]?.signal.aborted === true, "the abort");
});

test("without the token no tool is called, and after some wrong tokens the address is locked", async () => {
  const other = await startTestServer({ ports: { callTool: async () => ({ kind: "missing" }) } });
  const wrong = () =>
    fetch(`${other.http}/tools/invoke`, {
      method: "POST",
      headers: { authorization: "Bearer wrong" },
      body: JSON.stringify({ tool: "x" }),
    });
  try {
    const none = await fetch(`${other.http}/tools/invoke`, { method: "POST", body: "{}" });
    expect([none.status, none.headers.get("www-authenticate")]).toEqual([401, "Bearer"]);
    let answer = await wrong();
    expect(answer.status).toBe(401);
    while (answer.status === 401) answer = await wrong();
    expect(answer.status).toBe(429);
    expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
  } finally {
    await other.server.close(200);
  }
});
