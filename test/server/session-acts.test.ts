import { setImmediate } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runId, sessionKey } from "../../src/types/ids.ts";
import type { EntryBody } from "../../src/types/session.ts";
import { assistant, ends, facts } from "../kit/server/scripted-chat.ts";
import { expectShape } from "./shapes.ts";
import { RawClient, startTestServer, type TestServer } from "../kit/server/server.ts";

let gateway: TestServer;
let client: RawClient;

beforeAll(async () => {
  gateway = await startTestServer();
  client = new RawClient(gateway.url);
  await client.connect();
});
afterAll(async () => {
  client.close();
  await gateway.server.close(200);
});

const says = (text: string): EntryBody => ({ type: "message", message: { role: "user", content: text, timestamp: 1 } });
const answers = (text: string): EntryBody => ({ type: "message", message: assistant(text) });
const ask = (method: string, params: object = {}) => client.request(method, params);
const keysOf = (answer: Record<string, unknown>): string[] =>
  (answer["payload"] as { sessions: { key: string }[] }).sessions.map(({ key }) => key);
const textsOf = (answer: Record<string, unknown>): unknown[] =>
  (answer["payload"] as { messages: { content: unknown }[] }).messages.map(({ content }) =>
    typeof content === "string" ? content : (content as { text: string }[])[0]?.text,
  );

describe("sessions.create", () => {
  test("begins a chat of its own, with what the client says of it", async () => {
    const made = await ask("sessions.create", { label: "plans", model: "demo/echo-agent", thinkingLevel: "low" });
    expect(made).toMatchObject({
      payload: {
        key: expect.stringMatching(/^agent:main:webchat:default:[\w-]{36}$/),
        entry: { label: "plans", modelOverride: "echo-agent", thinkingLevel: "low" },
        runStarted: false,
        resolved: { modelProvider: "demo", model: "echo-agent" },
      },
    });
  });

  test("takes the client's key, and sends the first message", async () => {
    const made = await ask("sessions.create", { key: "agent:main:mine", message: "hello", idempotencyKey: "create-1" });
    expect(made).toMatchObject({ payload: { key: "agent:main:mine", runStarted: true, runId: "create-1" } });
    expect(gateway.chat.requests.at(-1)).toMatchObject({ sessionKey: "mine", text: "hello" });
  });

  test.each([
    [{ incognito: true }, "PARAMETER_NOT_SERVED"],
    [{ permissionMode: "read-only" }, "PARAMETER_NOT_SERVED"],
    [{ execSecurity: "full" }, "PARAMETER_NOT_SERVED"],
    [{ execHost: "gateway" }, "PARAMETER_NOT_SERVED"],
    [{ elevatedLevel: "full" }, "PARAMETER_NOT_SERVED"],
    [{ sandbox: "off" }, "PARAMETER_NOT_SERVED"],
    [{ toolsAllow: ["exec"] }, "PARAMETER_NOT_SERVED"],
    [{ agentId: "nobody" }, "UNKNOWN_AGENT_ID"],
    [{ key: "agent:coder:x", agentId: "main" }, "AGENT_MISMATCH"],
    [{ label: "plans" }, "LABEL_IN_USE"],
  ])("refuses %o, and makes nothing", async (params, code) => {
    const before = gateway.sessions.count;
    expect(await ask("sessions.create", params)).toMatchObject({ ok: false, error: { details: { code } } });
    expect(gateway.sessions.count).toBe(before);
  });

  test.each([
    [{ succeedsParent: true }, "succeedsParent requires parentSessionKey"],
    [{ succeedsParent: false, parentSessionKey: "main" }, "succeedsParent requires emitCommandHooks"],
    [{ succeedsParent: true, emitCommandHooks: true, fork: true, parentSessionKey: "main" }, "succeedsParent and fork"],
    [{ spawnDepth: 2 }, "spawnDepth requires parentSessionKey"],
    [{ spawnDepth: 0, parentSessionKey: "main" }, "spawnDepth"],
    [{ key: "agent:main:main", emitCommandHooks: true, parentSessionKey: "main" }, "not its own parent"],
  ])("refuses %o, since its parts do not fit together", async (params, why) => {
    const before = gateway.sessions.count;
    expect(await ask("sessions.create", params)).toMatchObject({
      error: { code: "INVALID_REQUEST", message: expect.stringContaining(why) },
    });
    expect(gateway.sessions.count).toBe(before);
  });

  test("begins a session below a parent, so many levels deep", async () => {
    const params = { key: "agent:main:deep", parentSessionKey: "agent:main:mine", spawnDepth: 2 };
    expect(await ask("sessions.create", params)).toMatchObject({
      payload: { entry: { spawnDepth: 2, parentSessionKey: "agent:main:mine" } },
    });
  });

  test("does not leave a parent whose run is active", async () => {
    gateway.sessions.add("at-work");
    const run = gateway.chat.begin(facts("at-work-run", "at-work"));
    const params = { parentSessionKey: "agent:main:at-work", emitCommandHooks: true };
    expect(await ask("sessions.create", params)).toMatchObject({
      error: { code: "UNAVAILABLE", details: { code: "PARENT_ACTIVE" }, retryable: true },
    });
    run.tell(ends());
  });
});

describe("a label", () => {
  const patch = (key: string, label: string | null) => ask("sessions.patch", { key, label });

  test("is that of one session of an agent", async () => {
    for (const key of ["agent:main:label-1", "agent:main:label-2", "agent:coder:label-3"])
      gateway.sessions.add(key.replace("agent:main:", ""));
    expect(await patch("agent:main:label-1", "garden")).toMatchObject({ ok: true });
    for (const label of ["garden", " garden "])
      expect(await patch("agent:main:label-2", label)).toMatchObject({
        error: { message: "label already in use: garden", details: { code: "LABEL_IN_USE", kind: "CONFLICT" } },
      });
    expect(await patch("agent:main:label-1", "garden")).toMatchObject({ ok: true });
    expect(await patch("agent:coder:label-3", "garden")).toMatchObject({ ok: true });
    expect(await patch("agent:main:label-1", null)).toMatchObject({ ok: true });
    expect(await patch("agent:main:label-2", "garden")).toMatchObject({ ok: true });
  });
});

test.each([
  ["sessions.patch", { key: " ", label: "x" }],
  ["sessions.create", { key: " " }],
  ["sessions.describe", { key: "" }],
  ["sessions.delete", { key: "  " }],
  ["sessions.reset", { key: " " }],
  ["chat.send", { sessionKey: " ", message: "x", idempotencyKey: "blank" }],
  ["chat.history", { sessionKey: "" }],
])("%s says of a blank key what is wrong: %o", async (method, params) => {
  expect(await ask(method, params)).toMatchObject({
    error: {
      code: "INVALID_REQUEST",
      message: expect.stringMatching(/key: names a conversation, and must not be blank$/i),
    },
  });
});

test("sessions.import makes no session of an agent that does not exist", async () => {
  const before = gateway.sessions.count;
  const params = { key: "agent:nobody:x", sessionId: "3f2b1c1e-6f0a-4c1e-9d5c-0a1b2c3d4e5f" };
  expect(await ask("sessions.import", params)).toMatchObject({ error: { details: { code: "UNKNOWN_AGENT_ID" } } });
  expect(gateway.sessions.count).toBe(before);
});

test.each(["agent:main:telegram:default:99999", "agent:coder:telegram:default:group:-7"])(
  "sessions.create copies no conversation into the chat of a channel: %s",
  async (key) => {
    gateway.sessions.add("copied", [says("a secret"), answers("noted")]);
    const before = gateway.sessions.count;
    const params = { key, fork: true, parentSessionKey: "agent:main:copied" };
    expect(await ask("sessions.create", params)).toMatchObject({ error: { code: "INVALID_REQUEST" } });
    expect(gateway.sessions.count).toBe(before);
  },
);

test.each([
  ["chat.send", { sessionKey: "agent:nope:main", message: "hi", idempotencyKey: "nope-1" }],
  ["chat.send", { sessionKey: "agent:nope:main", message: "/btw hi", idempotencyKey: "nope-2" }],
  ["agent", { sessionKey: "agent:nope:main", message: "hi" }],
  ["chat.inject", { sessionKey: "agent:nope:main", message: "hi" }],
  ["sessions.reset", { key: "agent:nope:main" }],
])("%s refuses the session of an agent that does not exist, and makes nothing", async (method, params) => {
  const before = [gateway.sessions.count, gateway.chat.requests.length];
  expect(await ask(method, params)).toMatchObject({ error: { details: { code: "UNKNOWN_AGENT_ID" } } });
  expect([gateway.sessions.count, gateway.chat.requests.length]).toEqual(before);
});

test.each(["sessions.reset", "sessions.describe"])(
  "%s refuses a session of another agent than named",
  async (method) => {
    expect(await ask(method, { key: "agent:main:main", agentId: "coder" })).toMatchObject({
      error: { details: { code: "AGENT_MISMATCH" } },
    });
  },
);

describe("messages to a session", () => {
  test("sessions.send goes to a session that is there", async () => {
    gateway.sessions.add("sent-to");
    const params = { key: "agent:main:sent-to", message: "hi", idempotencyKey: "send-1" };
    expect(await ask("sessions.send", params)).toMatchObject({ payload: { runId: "send-1", status: "started" } });
    expect(await ask("sessions.send", { ...params, key: "agent:main:not-there" })).toMatchObject({
      ok: false,
      error: { code: "INVALID_REQUEST", details: { kind: "NOT_FOUND" } },
    });
  });

  test("sessions.steer ends the run that is active, and sessions.abort ends one by its id", async () => {
    gateway.sessions.add("steered");
    gateway.chat.begin({ ...facts("old-run", "steered"), runId: runId("old-run") });
    const params = { key: "agent:main:steered", message: "faster", idempotencyKey: "steer-1" };
    expect(await ask("sessions.steer", params)).toMatchObject({ payload: { interruptedActiveRun: true } });
    gateway.chat.begin({ ...facts("next-run", "steered"), runId: runId("next-run") });
    expect(await ask("sessions.abort", { runId: "next-run" })).toMatchObject({
      payload: { ok: true, abortedRunId: "next-run", status: "aborted" },
    });
    expect(await ask("sessions.abort", { key: "agent:main:sent-to-nobody" })).toMatchObject({
      payload: { abortedRunId: null, status: "no-active-run" },
    });
  });
});

describe("ending and changing sessions", () => {
  test.each(["main", "agent:main:main", "agent:coder:main", "webchat:default:operator"])(
    "sessions.delete refuses the main session %s",
    async (key) => {
      expect(await ask("sessions.delete", { key })).toMatchObject({
        error: { code: "INVALID_REQUEST", message: expect.stringMatching(/main session \(agent:(main|coder):main\)/) },
      });
    },
  );

  test("sessions.delete removes the main session of an agent that is no more", async () => {
    gateway.sessions.add("agent:gone:main");
    expect(await ask("sessions.delete", { key: "agent:gone:main" })).toMatchObject({ payload: { deleted: true } });
  });

  test("sessions.delete deletes only what the client means, and names the archived file", async () => {
    gateway.sessions.add("leaving", [], { sessionId: "s-1", updatedAt: 7 });
    const key = "agent:main:leaving";
    for (const guard of [
      { expectedSessionId: "s-0" },
      { expectedSessionUpdatedAt: 6 },
      { archivedOnly: true },
      { agentId: "coder" },
    ])
      expect(await ask("sessions.delete", { key, ...guard })).toMatchObject({ error: { code: "INVALID_REQUEST" } });
    const guards = { expectedSessionId: "s-1", expectedSessionUpdatedAt: 7, agentId: "main", deleteTranscript: true };
    const { payload } = await ask("sessions.delete", { key, ...guards });
    expectShape("SessionsDeleteResult", payload);
    expect(payload).toEqual({ ok: true, key, deleted: true, archived: [expect.stringContaining("leaving")] });
    const again = await ask("sessions.delete", { key, ...guards });
    expect(again["payload"]).toEqual({ ok: true, key, deleted: false, archived: [] });
  });

  test("sessions.patchMany changes each session that it may, and says why it did not change another", async () => {
    for (const key of ["many-1", "many-2"]) gateway.sessions.add(key, [], { sessionId: `id of ${key}` });
    const targets = [
      { key: "agent:main:many-1", agentId: "main", expectedSessionId: "id of many-1" },
      { key: "agent:main:many-2", expectedSessionId: "another" },
      { key: "many-2", agentId: "coder" },
    ];
    const { payload } = await ask("sessions.patchMany", { targets, patch: { label: "of many", unread: true } });
    expectShape("SessionsPatchManyResult", payload);
    expect(payload).toMatchObject({
      outcomes: [
        { ok: true, key: "agent:main:many-1" },
        { ok: false, key: "agent:main:many-2", error: { details: { reason: "session-changed" } } },
        { ok: false, key: "agent:main:many-2", error: { details: { code: "AGENT_MISMATCH" } } },
      ],
    });
    const labelOf = (key: string) => gateway.sessions.peek(sessionKey(key))?.label;
    expect([labelOf("many-1"), labelOf("many-2")]).toEqual(["of many", undefined]);
    const unserved = await ask("sessions.patchMany", { targets: [{ key: "many-1" }], patch: { fastMode: true } });
    expect(unserved).toMatchObject({ payload: { outcomes: [{ error: { details: { code: "SETTING_NOT_SERVED" } } }] } });
  });

  test("sessions.compact cuts nothing off", async () => {
    expect(await ask("sessions.compact", { key: "many-1", maxLines: 3 })).toMatchObject({
      error: { details: { code: "PARAMETER_NOT_SERVED" } },
    });
  });
});

describe("a client that opens a chat while a run is active", () => {
  test("gets the text so far also when nobody was connected while it came, and the model rests", async () => {
    const alone = await startTestServer();
    alone.sessions.add("rests", [says("go on")]);
    const run = alone.chat.begin({ ...facts("resting-run", "rests"), runId: runId("resting-run") });
    run.tell({ type: "run_start", facts: run.facts, startedAt: 1 }, { type: "message_start" });
    for (const text of ["half", "half an"]) {
      await setImmediate();
      run.tell({ type: "text_delta", delta: text.slice(text.length - 4), text });
    }
    const late = new RawClient(alone.url);
    await late.connect();
    expect(await late.request("chat.history", { sessionKey: "rests" })).toMatchObject({
      payload: { inFlightRun: { runId: "resting-run", text: "half an" } },
    });
    late.close();
    await alone.server.close(200);
  });

  test("gets the text so far, and the messages that wait", async () => {
    gateway.sessions.add("busy", [says("go on")]);
    const run = gateway.chat.begin({ ...facts("busy-run", "busy"), runId: runId("busy-run") });
    run.tell({ type: "run_start", facts: run.facts, startedAt: 1 }, { type: "message_start" });
    run.tell({ type: "text_delta", delta: "so far", text: "so far" });
    const waits = { inboxId: 7, runId: runId("next"), text: "and then", receivedAt: 5, sessionKey: sessionKey("busy") };
    gateway.chat.queued.push(waits);
    await client.until((frame) => JSON.stringify(frame).includes("so far"));
    for (const method of ["chat.history", "chat.startup"])
      expect(await ask(method, { sessionKey: "agent:main:busy" })).toMatchObject({
        payload: {
          inFlightRun: { runId: "busy-run", text: "so far" },
          pendingInputs: {
            total: 1,
            items: [
              {
                id: "7",
                acceptedAt: 5,
                state: "queued",
                runId: "next",
                message: { role: "user", content: "and then", timestamp: 5, __openclaw: { id: "pending:7" } },
              },
            ],
          },
        },
      });
  });
});

describe("finding sessions", () => {
  beforeAll(() => {
    gateway.sessions.add("found-one", [says("what is the weather"), answers("sunny")], {
      sessionId: "11112222-aaaa",
      label: "weather",
    });
  });

  test.each([
    [{ key: "agent:main:found-one" }, "agent:main:found-one"],
    [{ key: "found-one" }, "agent:main:found-one"],
    [{ sessionId: "11112222-aaaa" }, "agent:main:found-one"],
    [{ shortId: "11112222" }, "agent:main:found-one"],
    [{ label: "weather" }, "agent:main:found-one"],
    [{ key: "main" }, "agent:main:main"],
  ])("sessions.resolve finds %o", async (params, key) => {
    expect(await ask("sessions.resolve", params)).toMatchObject({ payload: { ok: true, key, agentId: "main" } });
  });

  test.each([{ key: "agent:main:nothing" }, { label: "weather", agentId: "coder" }, {}])(
    "sessions.resolve does not find %o",
    async (params) => {
      expect(await ask("sessions.resolve", params)).toMatchObject({ ok: false, error: { code: "INVALID_REQUEST" } });
      expect(await ask("sessions.resolve", { ...params, allowMissing: true })).toMatchObject({
        payload: { ok: false },
      });
    },
  );

  test("sessions.get and sessions.preview show what was said", async () => {
    expect(textsOf(await ask("sessions.get", { key: "agent:main:found-one" }))).toEqual([
      "what is the weather",
      "sunny",
    ]);
    const keys = ["agent:main:found-one", "agent:main:nothing"];
    expect(await ask("sessions.preview", { keys, limit: 1, maxChars: 3 })).toMatchObject({
      payload: {
        previews: [
          { key: keys[0], status: "ok", items: [{ role: "assistant", text: "sun" }] },
          { key: keys[1], status: "missing", items: [] },
        ],
      },
    });
  });

  test("a list has titles and last messages for a client that asks for them", async () => {
    gateway.sessions.add("untitled", [says("a question\nin two lines"), answers("an answer")]);
    const wanted = { includeDerivedTitles: true, includeLastMessage: true, limit: 500 };
    const { sessions } = (await ask("sessions.list", wanted))["payload"] as { sessions: Record<string, unknown>[] };
    expect(sessions.find(({ key }) => key === "agent:main:untitled")).toMatchObject({
      derivedTitle: "a question in two lines",
      lastMessagePreview: "an answer",
    });
    expect(sessions.find(({ key }) => key === "agent:main:found-one")).toMatchObject({ derivedTitle: "weather" });
  });
});

describe("sorting sessions", () => {
  test("an archived session leaves the list until somebody writes in it", async () => {
    const key = "agent:main:aside";
    gateway.sessions.add("aside");
    expect(await ask("sessions.patch", { key, agentId: "main", archived: true })).toMatchObject({ ok: true });
    expect(keysOf(await ask("sessions.list", { limit: 500 }))).not.toContain(key);
    expect(keysOf(await ask("sessions.list", { archived: true }))).toEqual([key]);
    expect(keysOf(await ask("sessions.list", { archived: "all", limit: 500 }))).toContain(key);
    gateway.sessions.add("aside", [], { updatedAt: Date.now() + 60_000 });
    expect(keysOf(await ask("sessions.list", { limit: 500 }))).toContain(key);
  });

  test("pinned sessions are listed first, the latest pin before the others", async () => {
    const now = Date.now();
    const pins = { "pin-one": now, "pin-two": now + 1, "pin-none": undefined };
    for (const [id, pinnedAt] of Object.entries(pins))
      gateway.sessions.add(id, [], { updatedAt: now - 1_000_000, ...(pinnedAt && { pinnedAt }) });
    const [two, one] = ["agent:main:pin-two", "agent:main:pin-one"];
    expect(keysOf(await ask("sessions.list", { limit: 2 }))).toEqual([two, one]);
    expect(keysOf(await ask("sessions.list", { limit: 1, offset: 1, archived: "all" }))).toEqual([one]);
    const next = keysOf(await ask("sessions.list", { limit: 500, offset: 2 }));
    expect(next).toContain("agent:main:pin-none");
    expect(next).not.toContain(one);
  });

  test("a session is pinned, marked as unread, and both are taken back", async () => {
    const key = "agent:main:marked";
    gateway.sessions.add("marked");
    await ask("sessions.patch", { key, pinned: true, unread: true, icon: "book" });
    expect(await ask("sessions.describe", { key })).toMatchObject({
      payload: { session: { pinned: true, unread: true, icon: "book" } },
    });
    const at = gateway.sessions.peek(sessionKey("marked"))?.markedUnreadAt;
    const wrong = await ask("sessions.patch", { key, unread: false, expectedMarkedUnreadAt: Number(at) - 1 });
    expect(wrong).toMatchObject({ ok: false, error: { details: { reason: "session-changed" } } });
    await ask("sessions.patch", { key, pinned: false, unread: false, expectedMarkedUnreadAt: at });
    expect(await ask("sessions.describe", { key })).toMatchObject({
      payload: { session: { pinned: false, unread: false } },
    });
  });

  test("a patch for another session or another agent changes nothing", async () => {
    const key = "agent:main:guarded";
    gateway.sessions.add("guarded");
    expect(await ask("sessions.patch", { key, label: "x", expectedSessionId: "another" })).toMatchObject({
      ok: false,
      error: { details: { reason: "session-changed" } },
    });
    expect(await ask("sessions.patch", { key, label: "x", agentId: "coder" })).toMatchObject({ ok: false });
    expect(gateway.sessions.peek(sessionKey("guarded"))?.label).toBeUndefined();
  });

  test("only the subagents of a session are listed for it", async () => {
    gateway.sessions.add("parent::main:one", [], { spawnedBy: "parent" });
    expect(keysOf(await ask("sessions.list", { spawnedBy: "agent:main:parent" }))).toEqual([
      "agent:main:parent::main:one",
    ]);
    expect(keysOf(await ask("sessions.list", { spawnedBy: "agent:main:nobody" }))).toEqual([]);
  });

  test("groups keep their order, and a renamed or deleted one takes its sessions along", async () => {
    gateway.sessions.add("grouped");
    await ask("sessions.groups.put", { names: ["work", "home"] });
    const about = { event: "sessions.changed", payload: { reason: "groups", ts: expect.any(Number) as unknown } };
    await expect.poll(() => client.frames).toContainEqual(expect.objectContaining(about));
    await ask("sessions.patch", { key: "agent:main:grouped", category: "home" });
    expect(await ask("sessions.groups.rename", { name: "home", to: "house" })).toMatchObject({
      payload: { groups: [{ name: "work" }, { name: "house", position: 1 }], updatedSessions: 1 },
    });
    expect(gateway.sessions.peek(sessionKey("grouped"))?.category).toBe("house");
    expect(await ask("sessions.groups.delete", { name: "house" })).toMatchObject({ payload: { updatedSessions: 1 } });
    expect(await ask("sessions.groups.list")).toMatchObject({ payload: { groups: [{ name: "work", position: 0 }] } });
    expect(await ask("sessions.groups.delete", { name: "house" })).toMatchObject({
      error: { code: "INVALID_REQUEST", details: { kind: "NOT_FOUND" } },
    });
  });
});

describe("paging through a chat", () => {
  const key = "agent:main:long";
  const hidden: EntryBody = { type: "compaction", summary: "s", firstKeptEntryId: "entry0", tokensBefore: 9 };

  beforeAll(() => {
    const turns = Array.from({ length: 30 }, (_, at) => [says(`q${at}`), answers(`a${at}`), hidden, hidden]).flat();
    gateway.sessions.add("long", turns);
  });

  test.each([1, 2, 5, 31])("the newest %d messages, whatever lies between them", async (limit) => {
    const texts = textsOf(await ask("chat.history", { sessionKey: key, limit }));
    expect(texts).toHaveLength(limit);
    expect(texts.at(-1)).toBe("a29");
  });

  test("from an offset, page by page, each message comes once", async () => {
    const seen: unknown[] = [];
    let offset: number | undefined = 0;
    while (offset !== undefined) {
      const page = await ask("chat.history", { sessionKey: key, limit: 7, offset });
      seen.unshift(...textsOf(page));
      offset = (page["payload"] as { nextOffset?: number }).nextOffset;
    }
    expect(seen).toEqual(Array.from({ length: 30 }, (_, at) => [`q${at}`, `a${at}`]).flat());
  });

  test("around a message, and one message by its id", async () => {
    const all = (await ask("chat.history", { sessionKey: key, limit: 60 }))["payload"] as {
      messages: { content: unknown; __openclaw: { id: string } }[];
    };
    const id = all.messages[20]?.__openclaw.id;
    const around = textsOf(await ask("chat.history", { sessionKey: key, limit: 5, messageId: id }));
    expect(around).toEqual(["q9", "a9", "q10", "a10", "q11"]);
    expect(await ask("chat.message.get", { sessionKey: key, messageId: id })).toMatchObject({
      payload: { ok: true, message: { role: "user", content: "q10" } },
    });
    expect(await ask("chat.message.get", { sessionKey: key, messageId: "nothing" })).toMatchObject({
      payload: { ok: false, unavailableReason: "not_found" },
    });
  });

  test("chat.startup is the history with the session, and an unused session has one too", async () => {
    expect(await ask("chat.startup", { sessionKey: key, limit: 2 })).toMatchObject({
      payload: { sessionKey: key, hasMore: true, nextOffset: 2, sessionInfo: { key, isMain: false, archived: false } },
    });
    expect(await ask("chat.startup", { sessionKey: "agent:main:unused" })).toMatchObject({
      payload: { messages: [], totalMessages: 0, sessionInfo: { key: "agent:main:unused", updatedAt: null } },
    });
    expect(await ask("chat.metadata", { sessionKey: key })).toMatchObject({
      payload: { models: [{ id: expect.any(String) }], commands: [{ name: "status" }], swarmEnabled: false },
    });
  });
});
