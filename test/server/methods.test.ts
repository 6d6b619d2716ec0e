import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { agentId, runId, sessionKey } from "../../src/types/ids.ts";
import { defineMethod, MethodError } from "../../src/types/method.ts";
import { CONTINUE } from "../../src/types/run/turns.ts";
import { connectParams, RawClient, startTestServer, type TestServer } from "../kit/server/server.ts";
import { assistant, ends, facts, says, USAGE } from "../kit/server/scripted-chat.ts";
import { expectShape } from "./shapes.ts";

let gateway: TestServer;
let client: RawClient;
let runs = 0;
const held = Promise.withResolvers<void>();
const KEY = "webchat:default:operator";

beforeAll(async () => {
  gateway = await startTestServer({
    options: {
      methods: async () => [
        defineMethod({
          name: "test.slow",
          scope: "operator.write",
          params: z.looseObject({ key: z.string() }),
          result: z.looseObject({ run: z.number() }),
          idempotencyKey: "key",
          run: async () => {
            runs += 1;
            await held.promise;
            return { run: runs };
          },
        }),
        defineMethod({
          name: "test.fail",
          scope: "operator.read",
          params: z.looseObject({ how: z.string() }),
          result: z.never(),
          idempotencyKey: "how",
          run: async ({ how }) => {
            if (how === "kindly") throw new MethodError("CONFLICT", "already so", { retryAfterMs: 5 });
            throw new Error("the secret inside");
          },
        }),
      ],
    },
    ports: {
      pairing: {
        list: async () => [PAIRING],
        turnedAway: async () => [{ channel: "telegram", account: "default", senderId: "8", firstAt: 1, lastAt: 2 }],
        admitted: async () => [{ channel: "telegram", account: "default", senderId: "9", at: 3 }],
        reject: async (_channel, code) => (code === "ABCD2345" ? PAIRING : undefined),
        revoke: async (channel, senderId) =>
          senderId === "9" ? [{ channel, account: "default", senderId, at: 3 }] : [],
        approve: async (channel, code) =>
          channel === "telegram" && code.trim().toUpperCase() === "ABCD2345" ? PAIRING : undefined,
        notify: async ({ senderId }) => ({ state: "failed", reason: `${senderId} has blocked the bot` }),
      },
    },
  });
  client = new RawClient(gateway.url);
  await client.connect();
});
afterAll(async () => {
  client.close();
  await gateway.server.close(200);
});

const PAIRING = {
  channel: "telegram",
  account: "default",
  senderId: "7",
  code: "ABCD2345",
  createdAt: 1,
  expiresAt: 2,
};

test("an unknown method is reported as unknown", async () => {
  expect(await client.request("no.such")).toMatchObject({
    ok: false,
    error: { code: "INVALID_REQUEST", message: "unknown method: no.such" },
  });
});

test("wrong parameters name the field", async () => {
  const answer = await client.request("chat.send", { sessionKey: "main", message: 5, idempotencyKey: "k" });
  expect(answer).toMatchObject({ error: { code: "INVALID_REQUEST", message: expect.stringContaining("message") } });
});

test.each(["not json", '{"type":"req","id":"x1"}', "[]", '{"type":"req","id":"","method":"health"}'])(
  "the broken frame %s is answered and the connection lives on",
  async (frame) => {
    const own = new RawClient(gateway.url);
    await own.connect();
    own.send(frame);
    const answer = await own.until((item) => item["type"] === "res" && item["ok"] === false);
    expect(answer).toMatchObject({ error: { code: "INVALID_REQUEST" } });
    expectShape("ResponseFrame", answer);
    expect(await own.request("health")).toMatchObject({ ok: true });
    own.close();
  },
);

test("a missing scope names what is missing", async () => {
  const reader = new RawClient(gateway.url);
  await reader.connect({ scopes: ["operator.read"] });
  const answer = await reader.request("chat.abort", { sessionKey: "main" });
  expect(answer).toMatchObject({
    error: {
      code: "FORBIDDEN",
      details: { code: "MISSING_SCOPE", missingScope: "operator.write", requiredScopes: ["operator.write"] },
    },
  });
  const health = await reader.request("health");
  const late = { degraded: expect.any(Boolean), delayP99Ms: expect.any(Number), delayMaxMs: expect.any(Number) };
  expect(health).toMatchObject({ ok: true, payload: { eventLoop: { ...late, utilization: expect.any(Number) } } });
  reader.close();
});

test.each(["chat.send", "agent", "sessions.send", "sessions.steer", "sessions.create"])(
  "%s takes no command and no directive without the scope for it",
  async (method) => {
    gateway.chat.scopes.set("/elevated full", "operator.admin");
    gateway.chat.scopes.set("/approve", "operator.approvals");
    gateway.sessions.add(`scoped-${method}`);
    const writer = new RawClient(gateway.url);
    await writer.connect({ scopes: ["operator.write"] });
    const [key, idempotencyKey] = [`agent:main:scoped-${method}`, `scoped-${method}`];
    const place = method.startsWith("sessions.") ? { key } : { sessionKey: key };
    const ask = (message: string) => writer.request(method, { ...place, message, idempotencyKey });
    for (const [message, missingScope] of [
      ["please do it /elevated full", "operator.admin"],
      ["/approve abcdef always", "operator.approvals"],
    ] as const)
      expect(await ask(message)).toMatchObject({
        error: { code: "FORBIDDEN", details: { code: "MISSING_SCOPE", missingScope } },
      });
    expect(await ask("hello")).toMatchObject({ ok: true });
    writer.close();
  },
);

test.each(["sessions.patch", "sessions.patchMany"])(
  "%s changes how commands run only for an administrator",
  async (method) => {
    const writer = new RawClient(gateway.url);
    await writer.connect({ scopes: ["operator.write"] });
    const key = "agent:main:patched-exec";
    const params = { key, execAsk: null, targets: [{ key }], patch: { execAsk: null } };
    const { execAsk: _own, ...many } = params;
    expect(await writer.request(method, method === "sessions.patch" ? params : many)).toMatchObject({
      error: { details: { missingScope: "operator.admin" } },
    });
    writer.close();
  },
);

test("a repeated idempotency key never runs twice, not even at the same time or from another connection", async () => {
  const other = new RawClient(gateway.url);
  await other.connect();
  const calls = [client, client, other].map((item) => item.request("test.slow", { key: "one" }));
  await client.request("health");
  held.resolve();
  const answers = await Promise.all(calls);
  expect(answers.map((answer) => answer["payload"])).toEqual([{ run: 1 }, { run: 1 }, { run: 1 }]);
  expect(await client.request("test.slow", { key: "one" })).toMatchObject({ payload: { run: 1 } });
  expect(await client.request("test.slow", { key: "two" })).toMatchObject({ payload: { run: 2 } });
  expect(await client.request("test.slow", { key: "two", other: true })).toMatchObject({
    error: { code: "INVALID_REQUEST", details: { code: "IDEMPOTENCY_KEY_REUSED" } },
  });
  other.close();
});

test("an internal error is answered without its details", async () => {
  const answer = await client.request("test.fail", { how: "badly" });
  expect(answer).toMatchObject({ error: { code: "UNAVAILABLE" } });
  expect(JSON.stringify(answer)).not.toContain("secret");
  expect(await client.request("test.fail", { how: "kindly" })).toMatchObject({
    error: {
      code: "INVALID_REQUEST",
      details: { kind: "CONFLICT" },
      message: "already so",
      retryable: true,
      retryAfterMs: 5,
    },
  });
});

test("chat.send starts one run under its key, with images stored", async () => {
  const params = {
    sessionKey: "main",
    message: "look",
    idempotencyKey: "send-1",
    thinking: "low",
    attachments: [{ type: "image", mimeType: "image/png", fileName: "a.png", content: "aGVsbG8=" }],
  };
  expect(await client.request("chat.send", params)).toMatchObject({ payload: { runId: "send-1", status: "started" } });
  const again = await client.request("chat.send", params);
  expect(again).toMatchObject({ payload: { runId: "send-1", status: "in_flight" } });
  expect(gateway.chat.requests.filter((request) => request.idempotencyKey === "send-1")).toMatchObject([
    {
      sessionKey: KEY,
      text: "look",
      thinking: "low",
      media: [{ kind: "image", mime: "image/png", name: "a.png", source: { at: "store" } }],
    },
  ]);
  expect(Buffer.from(gateway.stored.at(-1)?.bytes ?? []).toString()).toBe("hello");
});

test.each([
  ["nothing to say", { message: "  " }],
  ["an attachment that is not base64", { message: "x", attachments: [{ content: "###" }] }],
  [
    "an image above the limit",
    { message: "x", attachments: [{ mimeType: "image/png", content: "A".repeat(12_000_000) }] },
  ],
  ["an unknown thinking level", { message: "x", thinking: "enormous" }],
])("chat.send refuses %s", async (_name, params) => {
  const answer = await client.request("chat.send", {
    sessionKey: "main",
    idempotencyKey: crypto.randomUUID(),
    ...params,
  });
  expect(answer).toMatchObject({ error: { code: "INVALID_REQUEST" } });
});

test("chat.abort ends the active run", async () => {
  gateway.chat.begin({ ...gateway.chat.active()[0]!, runId: runId("long"), sessionKey: sessionKey("k1") });
  expect(await client.request("chat.abort", { sessionKey: "k1", runId: "long" })).toMatchObject({
    payload: { ok: true, aborted: true, runIds: ["long"] },
  });
  expect(await client.request("chat.abort", { sessionKey: "k1" })).toMatchObject({ payload: { aborted: false } });
});

test("chat.history shows messages and notices with stable ids and increasing numbers", async () => {
  gateway.sessions.add("h1", [
    { type: "message", message: { role: "user", content: "hi", timestamp: 1 } },
    { type: "message", message: assistant("hello") },
    { type: "model_change", provider: "p", modelId: "m" },
  ]);
  await client.request("chat.inject", { sessionKey: "h1", message: "by the way", label: "note" });
  const answer = await client.request("chat.history", { sessionKey: "h1" });
  expect(answer).toMatchObject({
    payload: {
      sessionKey: "agent:main:h1",
      hasMore: false,
      totalMessages: 3,
      messages: [
        { role: "user", content: "hi", __openclaw: { id: "entry0" } },
        { role: "assistant", model: "echo", __openclaw: { id: "entry1" } },
        { role: "assistant", content: [{ type: "text", text: "[note]\n\nby the way" }] },
      ],
    },
  });
  const last = await client.request("chat.history", { sessionKey: "h1", limit: 1, maxChars: 3 });
  expect(last).toMatchObject({ payload: { hasMore: true, messages: [{ content: [{ text: "[no…" }] }] } });
  expect(JSON.stringify(answer)).toContain(JSON.stringify(seqOf(last)));
});

test("chat.inject tells the clients as of an answer", async () => {
  const other = new RawClient(gateway.url);
  await other.connect();
  gateway.sessions.add("h7", []);
  const answer = await client.request("chat.inject", { sessionKey: "h7", message: "by the way" });
  const { messageId } = z.object({ messageId: z.string() }).parse(answer["payload"]);
  expect(await other.event("chat")).toMatchObject({
    payload: {
      runId: `inject-${messageId}`,
      sessionKey: "agent:main:h7",
      agentId: "main",
      seq: 0,
      state: "final",
      message: { role: "assistant", model: "gateway-injected", content: [{ type: "text", text: "by the way" }] },
    },
  });
  other.close();
});

test("chat.history and chat.startup say what the tools of the messages did", async () => {
  const call = { type: "toolCall", id: "c1", name: "read", arguments: { path: "a.md" } } as const;
  gateway.sessions.add("h3", [
    { type: "message", message: { role: "user", content: "hi", timestamp: 1 } },
    { type: "message", message: { ...assistant(""), content: [call], stopReason: "toolUse" } },
    {
      type: "message",
      message: { role: "toolResult", toolCallId: "c1", toolName: "read", content: [], isError: true, timestamp: 2 },
    },
    { type: "message", message: assistant("there is none") },
  ]);
  const item = { itemId: "tool:c1", toolCallId: "c1", title: "Read", status: "failed", phase: "end" };
  for (const method of ["chat.history", "chat.startup"])
    expect(await client.request(method, { sessionKey: "h3" })).toMatchObject({
      payload: {
        activity: [
          { messageId: "entry1", items: [item] },
          { messageId: "entry2", items: [item] },
        ],
      },
    });
  expect((await client.request("chat.history", { sessionKey: "h2" }))["payload"]).not.toHaveProperty("activity");
});

test("chat.history names the run that answers a message", async () => {
  gateway.sessions.add("h2", [
    { type: "message", message: { role: "user", content: "hi", timestamp: 1 } },
    { type: "message", message: assistant("hello") },
    { type: "message", message: { role: "user", content: "and then?", timestamp: 2 } },
    { type: "message", message: assistant("this") },
  ]);
  gateway.chat.begin({ ...facts("asked-by-another", "h2"), turnId: "entry2" });
  expect(await client.request("chat.history", { sessionKey: "h2" })).toMatchObject({
    payload: {
      messages: [
        { __openclaw: { id: "entry0", seq: expect.any(Number) } },
        { __openclaw: { id: "entry1" } },
        {
          content: "and then?",
          idempotencyKey: "asked-by-another:user",
          __openclaw: { id: "entry2", runId: "asked-by-another" },
        },
        { role: "assistant", __openclaw: { id: "entry3", runId: "asked-by-another" } },
      ],
    },
  });
  const one = await client.request("chat.history", { sessionKey: "h2", maxBytes: 10 });
  expect(one).toMatchObject({ payload: { hasMore: true, messages: [{ __openclaw: { id: "entry3" } }] } });
});

test("chat.history shows an answer that was cut off and was continued as one message", async () => {
  const provenance = { kind: "internal_system" as const, sourceTool: CONTINUE };
  const goOn = {
    type: "message" as const,
    message: { role: "user" as const, content: "[Go on.]", timestamp: 2, provenance },
  };
  const broken = (text: string) => ({
    ...assistant(text),
    stopReason: "error" as const,
    errorMessage: "socket closed",
  });
  const entries = [
    { type: "message" as const, message: { role: "user" as const, content: "hi", timestamp: 1 } },
    { type: "message" as const, message: broken("one two ") },
    goOn,
    { type: "message" as const, message: broken("three ") },
    { type: "model_change" as const, provider: "p", modelId: "m" },
    goOn,
    { type: "message" as const, message: assistant("four") },
    { type: "message" as const, message: { role: "user" as const, content: "thanks", timestamp: 3 } },
    { type: "message" as const, message: assistant("welcome") },
  ];
  gateway.sessions.add("broken", entries);
  const answer = await client.request("chat.history", { sessionKey: "broken" });
  expect(answer["payload"]).toMatchObject({
    messages: [
      { role: "user" },
      {
        role: "assistant",
        content: [{ type: "text", text: "one two three four" }],
        stopReason: "stop",
        usage: { input: 3 * USAGE.input },
        __openclaw: { id: "entry1" },
      },
      { role: "user" },
      { role: "assistant", content: [{ text: "welcome" }] },
    ],
  });
  expect(JSON.stringify(answer)).not.toContain("socket closed");
  // The rest has not come yet: what is there is shown as it is.
  gateway.sessions.add("torn", entries.slice(0, 3));
  expect((await client.request("chat.history", { sessionKey: "torn" }))["payload"]).toMatchObject({
    messages: [{ role: "user" }, { role: "assistant", stopReason: "error", content: [{ text: "one two " }] }],
  });
});

test("agent.wait returns an answer that was cut off and was continued in one piece", async () => {
  const waiting = client.request("agent.wait", { runId: "torn-1", timeoutMs: 5_000 });
  await client.request("health");
  const run = gateway.chat.begin(facts("torn-1"));
  const broken = { ...assistant("one two "), stopReason: "error" as const };
  run.tell(
    { type: "message_start" },
    { type: "text_delta", delta: "one two ", text: "one two " },
    { type: "message_end", message: broken, text: "one two ", entryId: "e1" },
    { type: "retry", because: "timeout", remedy: "wait", message: "socket closed", continues: true },
    { type: "text_delta", delta: "three", text: "one two three" },
    { type: "message_end", message: assistant("three"), text: "one two three", entryId: "e2" },
    ...says("and more"),
    ends(),
  );
  expect(await waiting).toMatchObject({
    payload: { text: "one two three\n\nand more" },
  });
});

const seqOf = (answer: Record<string, unknown>) =>
  z.object({ messages: z.array(z.looseObject({ __openclaw: z.unknown() })) }).parse(answer["payload"]).messages[0]
    ?.__openclaw;

test("the history of a missing session is empty and creates none", async () => {
  expect(await client.request("chat.history", { sessionKey: "nobody" })).toMatchObject({
    payload: { messages: [], hasMore: false },
  });
  expect(gateway.sessions.peek(sessionKey("nobody"))).toBeUndefined();
});

test("a history larger than a frame gives its newest part", async () => {
  const big = "x".repeat(1_000_000);
  gateway.sessions.add(
    "big",
    Array.from({ length: 12 }, (_, index) => ({
      type: "message" as const,
      message: { role: "user" as const, content: `${index} ${big}`, timestamp: index },
    })),
  );
  const answer = await client.request("chat.history", { sessionKey: "big" });
  const { messages, hasMore } = z
    .object({ messages: z.array(z.object({ content: z.string() })), hasMore: z.boolean() })
    .parse(answer["payload"]);
  expect(hasMore).toBe(true);
  expect(messages.map((message) => message.content.split(" ")[0])).toEqual(["4", "5", "6", "7", "8", "9", "10", "11"]);
});

test.each(["inputProvenance", "internalEvents"])("agent takes no %s of a client, and says so", async (name) => {
  const params = { message: "go", idempotencyKey: `agent-${name}`, [name]: [] };
  const answer = await client.request("agent", params);
  expect(answer).toMatchObject({
    ok: false,
    error: { code: "INVALID_REQUEST", message: expect.stringContaining(name) },
  });
  expect(gateway.chat.requests.some(({ idempotencyKey }) => idempotencyKey === params.idempotencyKey)).toBe(false);
});

test.each([
  [{ agentId: "nobody" }, "UNKNOWN_AGENT_ID"],
  [{ agentId: "coder", sessionKey: "agent:main:x" }, "AGENT_MISMATCH"],
])("agent starts nothing for %o", async (params, code) => {
  const before = gateway.chat.requests.length;
  const answer = await client.request("agent", { message: "go", ...params });
  expect(answer).toMatchObject({ ok: false, error: { code: "INVALID_REQUEST", details: { code } } });
  expect(gateway.chat.requests).toHaveLength(before);
});

test("agent starts a run that agent.wait waits for", async () => {
  const started = await client.request("agent", { message: "go", idempotencyKey: "agent-1", agentId: "coder" });
  expect(started).toMatchObject({ payload: { runId: "agent-1", status: "accepted", acceptedAt: expect.any(Number) } });
  expect(gateway.chat.requests.at(-1)).toMatchObject({ sessionKey: "agent:coder:main" });
  expect(await client.request("agent.wait", { runId: "agent-1", timeoutMs: 5_000 })).toMatchObject({
    payload: { status: "ok", startedAt: 1_000, endedAt: 2_000, text: "Hello from the script." },
  });
});

test("agent.wait waits for a run that has not begun, and reports how it failed", async () => {
  const waiting = client.request("agent.wait", { runId: "later", timeoutMs: 5_000 });
  await client.request("health");
  const run = gateway.chat.begin({ ...gateway.chat.active()[0]!, runId: runId("later") });
  run.tell(...says("Half"), ends({ kind: "failed", failure: { kind: "network", message: "gone" } }));
  expect(await waiting).toMatchObject({ payload: { status: "error", error: "gone", text: "Half" } });
});

test("agent.wait returns after its timeout", async () => {
  const answer = await client.request("agent.wait", { runId: "never", timeoutMs: 20 });
  expect(answer).toMatchObject({ ok: true, payload: { runId: "never", status: "timeout" } });
});

test.each([
  [{ to: "+1:2", channel: "signal" }, "signal:default:+1%3A2"],
  [{ to: "7", agentId: "coder" }, "agent:coder:webchat:default:7"],
  [{ sessionKey: "main" }, KEY],
  [{ sessionId: "the-id" }, "found"],
  [{ sessionId: "a-name" }, "explicit:a-name"],
  [{ sessionId: "a-name", agentId: "coder" }, "agent:coder:explicit:a-name"],
])("agent finds its session by %o", async (params, key) => {
  gateway.sessions.add("found", [], { sessionId: "the-id" });
  await client.request("agent", { message: "go", ...params });
  expect(gateway.chat.requests.at(-1)).toMatchObject({ sessionKey: key });
});

test("agent begins no session with a name that is none", async () => {
  const answer = await client.request("agent", { message: "go", sessionId: "../a" });
  expect(answer).toMatchObject({ error: { code: "INVALID_REQUEST", details: { kind: "NOT_FOUND" } } });
});

test("sessions.list shows rows with what a list needs", async () => {
  gateway.sessions.add("telegram:default:group:-5", [], {
    chatType: "group",
    updatedAt: 9e12,
    label: "Family",
    totalTokens: 12,
  });
  const answer = await client.request("sessions.list", { limit: 1 });
  expect(answer).toMatchObject({
    payload: {
      path: "/state/sessions.json",
      count: 1,
      hasMore: true,
      nextOffset: 1,
      defaults: { modelProvider: "demo", model: "echo-agent", contextTokens: 32_000 },
      sessions: [
        {
          key: "agent:main:telegram:default:group:-5",
          kind: "group",
          agentId: "main",
          chatType: "group",
          label: "Family",
          totalTokens: 12,
          hasActiveRun: false,
          activeRunIds: [],
        },
      ],
    },
  });
  expect(await client.request("sessions.list", { search: "famil" })).toMatchObject({ payload: { totalCount: 1 } });
  expect(await client.request("sessions.list", { agentId: "nobody" })).toMatchObject({ payload: { totalCount: 0 } });
});

test("sessions.list gives pages of a hundred, the newest first, with or without a filter", async () => {
  for (let n = 0; n < 250; n++) gateway.sessions.add(`many-${n}`, [], { updatedAt: 8e12 - n, label: "Many" });
  for (const filter of [{ label: "Many" }, { search: "many-" }]) {
    const { payload } = await client.request("sessions.list", { ...filter, offset: 200 });
    expect(payload).toMatchObject({ count: 50, totalCount: 250, hasMore: false, nextOffset: null });
  }
  const { payload } = await client.request("sessions.list", { label: "Many" });
  expect(payload).toMatchObject({ count: 100, totalCount: 250, hasMore: true, nextOffset: 100 });
  expect(payload).toMatchObject({
    sessions: expect.arrayContaining([expect.objectContaining({ key: "agent:main:many-99" })]),
  });
  const all = await client.request("sessions.list", { offset: 100 });
  expect(all).toMatchObject({ payload: { count: 100, hasMore: true, nextOffset: 200 } });
});

test("sessions.patch sets and removes settings, also of a session that does not exist yet", async () => {
  const set = { key: "new-one", label: "Work", thinkingLevel: "high", model: "demo/echo-agent" };
  expect(await client.request("sessions.patch", set)).toMatchObject({
    payload: {
      ok: true,
      key: "agent:main:new-one",
      entry: { label: "Work", thinkingLevel: "high" },
      resolved: { model: "echo-agent" },
    },
  });
  await client.request("sessions.patch", { key: "new-one", label: null, model: null });
  expect(gateway.sessions.peek(sessionKey("new-one"))).toMatchObject({ label: undefined, modelOverride: undefined });
  const unknown = await client.request("sessions.patch", { key: "new-one", model: "who/knows" });
  expect(unknown).toMatchObject({ error: { code: "INVALID_REQUEST", message: expect.stringContaining("who/knows") } });
});

test("sessions.patch of the model lifts the pin of a key, which belongs to the model before", async () => {
  const pin = { authProfileOverride: "demo:mine", authProfileOverrideSource: "user" as const };
  for (const model of [null, "echo-agent"]) {
    gateway.sessions.add("pinned", [], { ...pin, providerOverride: "demo", modelOverride: "other" });
    expect(await client.request("sessions.patch", { key: "pinned", model })).toMatchObject({ ok: true });
    expect(gateway.sessions.peek(sessionKey("pinned"))?.authProfileOverride).toBeUndefined();
  }
});

test("sessions.describe shows the row of a session, or none, and its settings", async () => {
  gateway.sessions.add("described", [], { label: "Mine" });
  const settings = { verboseLevel: { value: "on", source: "session", default: "off" } };
  expect(await client.request("sessions.describe", { key: "described" })).toMatchObject({
    payload: { key: "agent:main:described", session: { key: "agent:main:described", label: "Mine" }, settings },
  });
  expect(await client.request("sessions.describe", { key: "none" })).toMatchObject({
    payload: { session: null, settings },
  });
});

test("sessions.reset ends runs and begins a new transcript; delete removes the row; compact reports whether it compacted", async () => {
  gateway.sessions.add("r1", [], { sessionId: "old" });
  expect(await client.request("sessions.reset", { key: "r1" })).toMatchObject({
    payload: { ok: true, key: "agent:main:r1", entry: { sessionId: "old-again" } },
  });
  expect(gateway.chat.aborted.at(-1)).toEqual(["r1", undefined]);
  const isTold = (frame: Record<string, unknown>) => JSON.stringify(frame["payload"]).includes('"reason":"reset"');
  expect(await client.until((frame) => frame["event"] === "sessions.changed" && isTold(frame))).toMatchObject({
    payload: { sessionKey: "agent:main:r1" },
  });
  expect(await client.request("sessions.compact", { key: "r1" })).toMatchObject({
    payload: { compacted: false, reason: expect.any(String) },
  });
  expect(await client.request("sessions.delete", { key: "r1" })).toMatchObject({ payload: { deleted: true } });
  expect(await client.request("sessions.delete", { key: "r1" })).toMatchObject({ payload: { deleted: false } });
});

test("health, status, presence and logs answer in their shapes", async () => {
  const health = await client.request("health");
  expect(health).toMatchObject({
    payload: { ok: true, defaultAgentId: "main", channels: {}, sessions: { path: "/state/sessions.json" } },
  });
  expect(await client.request("status")).toMatchObject({
    payload: { version: "0.1.0-test", config: { problems: [] }, connections: expect.any(Number) },
  });
  const logs = await client.request("logs.tail", { limit: 10 });
  expectShape("LogsTailResult", logs["payload"]);
  const presence = await client.request("system-presence");
  for (const row of z.array(z.unknown()).min(2).parse(presence["payload"])) expectShape("PresenceEntry", row);
});

test("approvals are listed and decided once", async () => {
  gateway.chat.waiting.push({
    id: "ask-1",
    sessionKey: sessionKey(KEY),
    runId: runId("r"),
    agentId: agentId("main"),
    command: "ls",
    cwd: "/w",
    reason: "not on the list",
    createdAt: 1,
    expiresAt: 2,
  });
  expect(await client.request("exec.approval.list")).toMatchObject({
    payload: [{ id: "ask-1", request: { command: "ls", cwd: "/w" }, createdAtMs: 1, expiresAtMs: 2 }],
  });
  const decide = (id: string) => client.request("exec.approval.resolve", { id, decision: "allow-once" });
  expect(await decide("ask-1")).toMatchObject({ payload: { ok: true } });
  expect(await decide("ask-2")).toMatchObject({ error: { code: "INVALID_REQUEST", details: { kind: "NOT_FOUND" } } });
});

test("questions of plugins are marked, and listed by themselves", async () => {
  const [first] = gateway.chat.waiting;
  gateway.chat.waiting.push({ ...first!, id: "ask-plugin", askedBy: "plugin", allowing: ["allow-always"] });
  const request = { askedBy: "plugin", allowedDecisions: ["allow-always", "deny"] };
  expect(await client.request("plugin.approval.list")).toMatchObject({ payload: [{ id: "ask-plugin", request }] });
  expect(await client.request("exec.approval.list")).toMatchObject({ payload: [{ id: "ask-1" }] });
  const answer = await client.request("plugin.approval.resolve", { id: "ask-plugin", decision: "deny" });
  expect(answer).toMatchObject({ payload: { ok: true } });
  gateway.chat.waiting.pop();
});

test("a decision that names the wrong kind leaves the question waiting; of an ended one the record is answered", async () => {
  const [first] = gateway.chat.waiting;
  gateway.chat.waiting.push({ ...first!, id: "of-exec" });
  const decide = (id: string, kind: string) => client.request("approval.resolve", { id, kind, decision: "deny" });
  expect(await decide("of-exec", "plugin")).toMatchObject({
    error: { code: "INVALID_REQUEST", details: { code: "APPROVAL_KIND_MISMATCH", approvalKind: "exec" } },
  });
  expect(await client.request("approval.get", { id: "of-exec" })).toMatchObject({
    payload: { approval: { status: "pending" } },
  });
  expect(await decide("nothing", "exec")).toMatchObject({ error: { details: { reason: "APPROVAL_NOT_FOUND" } } });
  gateway.chat.waiting.pop();
});

test("an answer that a question does not offer is refused with those that it offers", async () => {
  gateway.chat.offers.set("always-only", ["allow-always", "deny"]);
  const answer = await client.request("exec.approval.resolve", { id: "always-only", decision: "allow-once" });
  expect(answer).toMatchObject({
    error: {
      code: "INVALID_REQUEST",
      details: { code: "APPROVAL_DECISION_NOT_ALLOWED", allowedDecisions: ["allow-always", "deny"] },
    },
  });
});

test.each([
  [undefined, { reason: "APPROVAL_NOT_FOUND", ended: "unknown" }],
  [{ how: "timeout" }, { reason: "APPROVAL_NOT_FOUND", ended: "expired" }],
  [{ how: "restart" }, { reason: "APPROVAL_NOT_FOUND", ended: "gateway-restart" }],
  [{ how: "abort" }, { reason: "APPROVAL_NOT_FOUND", ended: "run-aborted" }],
  [
    { how: "deny", by: "telegram:42" },
    { reason: "APPROVAL_ALREADY_RESOLVED", ended: "resolved", decision: "deny", resolvedBy: "telegram:42" },
  ],
] as const)("a late decision about a question that ended with %j is answered with the reason", async (end, details) => {
  gateway.chat.ended.clear();
  if (end) gateway.chat.ended.set("late", end);
  const answer = await client.request("exec.approval.resolve", { id: "late", decision: "allow-once" });
  expect(answer).toMatchObject({
    error: { code: "INVALID_REQUEST", details: { code: "APPROVAL_NOT_FOUND", ...details } },
  });
});

test("the decision that a question has got already is done", async () => {
  gateway.chat.ended.set("late", { how: "allow-once" });
  const answer = await client.request("exec.approval.resolve", { id: "late", decision: "allow-once" });
  expect(answer).toMatchObject({ payload: { ok: true, id: "late", decision: "allow-once" } });
});

test("a question of a command is not answered as a plugin's, except by a client that shows commands as such", async () => {
  const [first] = gateway.chat.waiting;
  gateway.chat.waiting.push({ ...first!, id: "ask-exec" });
  const decide = (of: RawClient) => of.request("plugin.approval.resolve", { id: "ask-exec", decision: "deny" });
  expect(await decide(client)).toMatchObject({ error: { details: { reason: "APPROVAL_NOT_FOUND" } } });
  const tui = new RawClient(gateway.url);
  await tui.connect({ client: { ...connectParams().client, id: "openclaw-tui" } });
  expect(await decide(tui)).toMatchObject({ payload: { ok: true } });
  tui.close();
  gateway.chat.waiting.pop();
});

test("pairing requests are listed and approved by their code", async () => {
  expect(await client.request("pairing.list", { channel: "signal" })).toMatchObject({ payload: { requests: [] } });
  expect(await client.request("pairing.list")).toMatchObject({ payload: { requests: [{ code: "ABCD2345" }] } });
  expect(await client.request("pairing.approve", { channel: "telegram", code: " abcd2345 " })).toMatchObject({
    payload: { ok: true, request: { senderId: "7" } },
  });
  expect(await client.request("pairing.list")).toMatchObject({ payload: { turnedAway: [{ senderId: "8" }] } });
  expect(
    await client.request("pairing.approve", { channel: "telegram", code: "ABCD2345", notify: true }),
  ).toMatchObject({
    payload: { notified: { state: "failed", reason: "7 has blocked the bot" } },
  });
  expect(await client.event("pairing.resolved")).toMatchObject({ payload: { channel: "telegram", senderId: "7" } });
  expect(await client.request("pairing.approve", { channel: "telegram", code: "nope" })).toMatchObject({
    error: { code: "INVALID_REQUEST", details: { kind: "NOT_FOUND" } },
  });
});

test("sessions.changed comes until it is unsubscribed", async () => {
  const own = new RawClient(gateway.url);
  await own.connect();
  expect(await own.request("sessions.unsubscribe")).toMatchObject({ payload: { subscribed: false } });
  const before = own.frames.length;
  gateway.events.publish({ event: "sessions.changed", payload: { n: 1 } });
  expect(await own.request("sessions.subscribe")).toMatchObject({ payload: { subscribed: true } });
  gateway.events.publish({ event: "sessions.changed", payload: { n: 2 } });
  expect(await own.until((frame) => JSON.stringify(frame).includes('"n":2'))).toBeDefined();
  const changes = own.frames.slice(before).filter((frame) => frame["event"] === "sessions.changed");
  expect(changes).toMatchObject([{ payload: { n: 2 } }]);
  own.close();
});

test("a connection that subscribes to the sessions gets the messages of all of them", async () => {
  const own = new RawClient(gateway.url);
  await own.connect();
  const tell = (entryId: string) =>
    gateway.sessions.changes.publish({ key: sessionKey("any"), file: "/s/any.jsonl", entryId });
  gateway.sessions.add("any", [{ type: "message", message: { role: "user", content: "hi", timestamp: 1 } }]);
  tell("before");
  await own.request("sessions.subscribe");
  tell("followed");
  const isMessage = (frame: Record<string, unknown>) => frame["event"] === "session.message";
  expect(await own.until(isMessage)).toMatchObject({
    payload: { sessionKey: "agent:main:any", messageId: "followed" },
  });
  await own.request("sessions.unsubscribe");
  tell("after");
  await own.request("health");
  expect(own.frames.filter(isMessage)).toHaveLength(1);
  own.close();
});

test("a connection gets session.message for the sessions that it follows, up to a limit", async () => {
  const own = new RawClient(gateway.url);
  await own.connect();
  const tell = (key: string, entryId?: string) =>
    gateway.sessions.changes.publish({ key: sessionKey(key), file: `/s/${key}.jsonl`, ...(entryId && { entryId }) });
  gateway.sessions.add("followed", [
    { type: "message", message: { role: "user", content: "hi", timestamp: 1 } },
    { type: "message", message: assistant("hello") },
  ]);
  const { entries } = await gateway.sessions.history(sessionKey("followed"), 2);
  const written = entries.at(-1)?.id ?? "";
  tell("followed", "e0");
  expect(await own.request("sessions.messages.subscribe", { key: "followed" })).toMatchObject({
    payload: { subscribed: true, key: "agent:main:followed" },
  });
  tell("other", "e1");
  tell("followed", written);
  tell("followed");
  const isMessage = (frame: Record<string, unknown>) => frame["event"] === "session.message";
  await own.until((frame) => isMessage(frame) && !JSON.stringify(frame).includes("messageId"));
  const about = { sessionKey: "agent:main:followed", agentId: "main", session: { key: "agent:main:followed" } };
  const shown = { role: "assistant", content: [{ type: "text", text: "hello" }], __openclaw: { id: written } };
  expect(own.frames.filter(isMessage).map(({ payload }) => payload)).toMatchObject([
    { ...about, messageId: written, messageSeq: expect.any(Number), message: shown },
    about,
  ]);
  expect(await own.request("sessions.messages.unsubscribe", { key: "followed" })).toMatchObject({
    payload: { subscribed: false },
  });
  tell("followed", "e3");
  for (let n = 0; n < 200; n += 1) await own.request("sessions.messages.subscribe", { key: `k${n}` });
  expect(await own.request("sessions.messages.subscribe", { key: "one-more" })).toMatchObject({
    ok: false,
    error: { code: "INVALID_REQUEST", message: "one connection may follow 200 sessions at most" },
  });
  expect(own.frames.filter(isMessage)).toHaveLength(2);
  own.close();
});

test("the queue of a session is set, shown and removed; a value that means nothing is refused", async () => {
  const queue = { queueMode: "steer", queueDebounceMs: 250, queueCap: 3, queueDrop: "old" };
  expect(await client.request("sessions.patch", { key: "k-queue", ...queue })).toMatchObject({
    payload: { entry: queue },
  });
  for (const wrong of [{ queueMode: "sometimes" }, { queueCap: 0 }, { queueDebounceMs: -1 }, { queueDrop: "all" }])
    expect(await client.request("sessions.patch", { key: "k-queue", ...wrong })).toMatchObject({ ok: false });
  const list = await client.request("sessions.list", { search: "k-queue" });
  expect(JSON.stringify(list)).toContain('"queueMode":"steer","queueDebounceMs":250,"queueCap":3,"queueDrop":"old"');
  await client.request("sessions.patch", { key: "k-queue", queueMode: null, queueCap: null });
  const entry = gateway.sessions.peek(sessionKey("k-queue"));
  expect([entry?.queueMode, entry?.queueDebounceMs, entry?.queueCap]).toEqual([undefined, 250, undefined]);
});

test("how commands run is stored by sessions.patch, and a word that means nothing is refused", async () => {
  const stored = () => gateway.sessions.peek(sessionKey("k-exec"));
  const exec = { execHost: "sandbox", execSecurity: "deny", execAsk: "always" };
  await client.request("sessions.patch", { key: "k-exec", ...exec });
  expect(stored()).toMatchObject(exec);
  for (const wrong of [{ execHost: "node" }, { execSecurity: "some" }, { execAsk: "never" }])
    expect(await client.request("sessions.patch", { key: "k-exec", ...wrong })).toMatchObject({ ok: false });
  await client.request("sessions.patch", { key: "k-exec", execSecurity: null });
  expect([stored()?.execHost, stored()?.execSecurity]).toEqual(["sandbox", undefined]);
});

test("an unsupported setting is refused by its name, and nothing is stored", async () => {
  const refused = await client.request("sessions.patch", {
    key: "k-refused",
    label: "x",
    elevatedLevel: "full",
    execNode: "laptop",
    queueMode: "steer",
  });
  expect(refused).toMatchObject({
    ok: false,
    error: {
      code: "INVALID_REQUEST",
      message: "this gateway does not support these settings: elevatedLevel, execNode",
      details: { code: "SETTING_NOT_SERVED", settings: ["elevatedLevel", "execNode"] },
    },
  });
  expect(gateway.sessions.peek(sessionKey("k-refused"))).toBeUndefined();
  expect(await client.request("sessions.patch", { key: "k-refused", label: "x", elevatedLevel: null })).toMatchObject({
    ok: true,
  });
});

test("an activation outside of groups is refused, and nothing is stored; removing one is not", async () => {
  const group = "demo:default:group:-8";
  for (const key of ["k-direct", "demo:default:7", "main"]) {
    expect(await client.request("sessions.patch", { key, label: "x", groupActivation: "always" })).toMatchObject({
      error: { code: "INVALID_REQUEST", details: { code: "NOT_A_GROUP" } },
    });
  }
  expect(gateway.sessions.peek(sessionKey("k-direct"))).toBeUndefined();
  expect(await client.request("sessions.patch", { key: "k-direct", groupActivation: null })).toMatchObject({
    ok: true,
  });
  expect(await client.request("sessions.patch", { key: group, groupActivation: "always" })).toMatchObject({
    payload: { entry: { groupActivation: "always" } },
  });
});

test.each(["   ", "a\nb", "k".repeat(600), "agent:nobody:k", "k-parent::main"])(
  "a setting of a session that no message could have is refused: %j",
  async (key) => {
    expect(await client.request("sessions.patch", { key, label: "x" })).toMatchObject({
      error: {
        code: "INVALID_REQUEST",
        message: expect.stringMatching(/the key of the session|params: key|no agent has started it/),
      },
    });
    expect(gateway.sessions.peek(sessionKey(key.trim()))).toBeUndefined();
  },
);

test.each(["chat.send", "agent"])(
  "%s into the session of a subagent that nobody started is refused",
  async (method) => {
    const params = { sessionKey: "webchat:default:par::own", message: "hi", idempotencyKey: `sub-${method}` };
    expect(await client.request(method, params)).toMatchObject({
      ok: false,
      error: { code: "INVALID_REQUEST", details: { code: "SUBAGENT_NOT_STARTED" } },
    });
    expect(gateway.chat.requests.some((request) => request.idempotencyKey === params.idempotencyKey)).toBe(false);
  },
);
