import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { PNG } from "../kit/pictures.ts";
import { type FakeModel, startFakeModel } from "../fakes/model.ts";
import { diskOfDatabases } from "../kit/store/full-disk.ts";
import type { RawClient } from "../kit/server/server.ts";
import { startGatewayFixture, type GatewayFixture } from "../kit/gateway/in-process.ts";

/** Web chat keeps the promises of every channel: durable before the answer, no double, nothing lost between connections. */
let model: FakeModel;
let fixture: GatewayFixture;
const open: RawClient[] = [];
beforeAll(async () => {
  model = await startFakeModel();
  fixture = await startGatewayFixture({ enabled: false }, model.url);
});
afterEach(() => {
  for (const tab of open.splice(0)) tab.close();
});
afterAll(async () => {
  await fixture.close();
  await model.close();
});

async function openTab(): Promise<RawClient> {
  const tab = await fixture.client();
  open.push(tab);
  return tab;
}

const chatEvent = z.looseObject({
  event: z.literal("chat"),
  payload: z.looseObject({
    runId: z.string(),
    seq: z.number(),
    state: z.string(),
    message: z.looseObject({ content: z.array(z.looseObject({ text: z.string().optional() })) }).optional(),
  }),
});

/** What a tab was told of a run: how it stood, with the whole text so far. */
function toldOf(tab: RawClient, runId: string) {
  return tab.frames.flatMap((frame) => {
    const payload = chatEvent.safeParse(frame).data?.payload;
    if (payload?.runId !== runId) return [];
    const text = (payload.message?.content ?? []).map((part) => part.text ?? "").join("");
    return [{ seq: payload.seq, state: payload.state, text }];
  });
}

const until = (tab: RawClient, runId: string, state: string) =>
  tab.until((frame) => {
    const payload = chatEvent.safeParse(frame).data?.payload;
    return payload?.runId === runId && payload.state === state;
  });

const send = async (tab: RawClient, session: string, message: string, key: string) => {
  const answer = await tab.request("chat.send", { sessionKey: session, message, idempotencyKey: key });
  return answer["payload"] ?? answer["error"];
};

const historyShape = z.looseObject({
  payload: z.looseObject({ messages: z.array(z.looseObject({ role: z.string(), content: z.unknown() })) }),
});
async function historyOf(tab: RawClient, session: string): Promise<readonly string[]> {
  const { payload } = historyShape.parse(await tab.request("chat.history", { sessionKey: session }));
  return payload.messages.map(({ role, content }) => `${role}: ${JSON.stringify(content)}`);
}

const WORDS = "one two three four five six seven eight nine ten";

test("a message is in the journal before its sender is answered", async () => {
  model.answer(() => "hang");
  const tab = await openTab();
  await send(tab, "durable", "keep this", "durable-1");
  const journal = new DatabaseSync(join(fixture.dir, "state", "journal.sqlite"), { readOnly: true });
  const rows = journal.prepare("SELECT message FROM inbox WHERE message LIKE '%durable-1%'").all();
  journal.close();
  expect(rows).toHaveLength(1);
  await model.called(1);
  await tab.request("chat.abort", { sessionKey: "durable" });
  await until(tab, "durable-1", "aborted");
});

test("a setting is on disk when its change is answered, and a full disk changes nothing", async () => {
  const tab = await openTab();
  const patch = async (changes: object) => tab.request("sessions.patch", { key: "kept", ...changes });
  expect(await patch({ label: "Mine" })).toMatchObject({ ok: true });
  const journal = new DatabaseSync(join(fixture.dir, "state", "journal.sqlite"), { readOnly: true });
  const rows = () => JSON.stringify(journal.prepare("SELECT * FROM sessions").all());
  expect(rows()).toContain("Mine");
  const disk = diskOfDatabases();
  disk.isFull = () => true;
  const refused = { ok: false, error: { details: { code: "DISK_FULL" } } };
  expect(await patch({ label: "Lost", thinkingLevel: "high" })).toMatchObject(refused);
  expect(await tab.request("sessions.patch", { key: "never", label: "Lost" })).toMatchObject(refused);
  disk.isFull = () => false;
  expect(await patch({ model: null })).toMatchObject({ payload: { entry: { label: "Mine" } } });
  expect(rows()).not.toMatch(/Lost|high|never/);
  journal.close();
});

test("the model gets the day, because a message of the page has no time; later requests of the day are the same", async () => {
  model.answer(() => ({ text: "noted" }));
  const tab = await openTab();
  for (const key of ["day-1", "day-2"]) {
    await send(tab, "day", "what day is it?", key);
    await until(tab, key, "final");
  }
  const [first, second] = model.calls.slice(-2).map(({ system }) => system);
  const { timeZone } = new Intl.DateTimeFormat().resolvedOptions();
  const today = new Intl.DateTimeFormat("sv-SE", { timeZone }).format(new Date());
  expect(first).toMatch(new RegExp(`Today is [A-Z][a-z]+day, ${today}\\.`));
  expect(second).toBe(first);
});

const messageShape = z.looseObject({ sessionKey: z.string(), sessionFile: z.string(), messageId: z.string() });
const entryShape = z.looseObject({ type: z.string(), id: z.string() });

test("a client that follows a session receives each write of its transcript", async () => {
  model.answer(() => ({ text: "noted" }));
  const tab = await openTab();
  await tab.request("sessions.messages.subscribe", { key: "watched" });
  await send(tab, "watched", "hello", "watched-1");
  await until(tab, "watched-1", "final");
  await send(tab, "unwatched", "hello", "unwatched-1");
  await until(tab, "unwatched-1", "final");
  const told = tab.frames.flatMap(({ event, payload }) =>
    event === "session.message" ? [messageShape.parse(payload)] : [],
  );
  const [file, ...others] = [...new Set(told.map(({ sessionFile }) => sessionFile))];
  expect(others).toEqual([]);
  const lines = readFileSync(file ?? "", "utf8")
    .trim()
    .split("\n");
  const written = lines.map((line) => entryShape.parse(JSON.parse(line))).filter(({ type }) => type !== "session");
  expect(told.map(({ messageId }) => messageId)).toEqual(written.map(({ id }) => id));
  expect(written.filter(({ type }) => type === "message")).toHaveLength(2);
  expect(new Set(told.map(({ sessionKey }) => sessionKey)).size).toBe(1);
});

test("the session of a subagent has the short prompt of one, and no persona", async () => {
  model.answer(() => ({ text: "noted" }));
  const tab = await openTab();
  const systemOf = async (session: string, key: string) => {
    await send(tab, session, "hello", key);
    await until(tab, key, "final");
    return model.calls.at(-1)?.system ?? "";
  };
  const headings = (text: string) => [...text.matchAll(/^#+ (.*)$/gm)].map((match) => match[1]);
  const child = await systemOf("agent:main:subagent:5d1f", "child-1");
  expect(headings(child.split("# Project Context")[0] ?? "")).toEqual(["Tooling", "Workspace", "Runtime"]);
  expect(child).toContain('<context_file path="AGENTS.md">');
  expect(child).not.toContain('<context_file path="SOUL.md">');
  const parent = await systemOf("parent", "parent-1");
  expect(headings(parent)).toEqual(expect.arrayContaining(["Safety", "Reply Tags", "Documentation"]));
  expect(parent).toContain('<context_file path="SOUL.md">');
});

test("null takes a key out of the config, as in a merge patch", async () => {
  const tab = await openTab();
  const patched = async (patch: object) => (await tab.request("config.patch", { patch }))["payload"];
  await patched({ messages: { responsePrefix: "Bot:", queue: { cap: 7 } } });
  expect(fixture.config()).toContain("responsePrefix");
  expect(await patched({ messages: { responsePrefix: null, nothing: null } })).toMatchObject({ ok: true });
  expect(fixture.config()).not.toMatch(/responsePrefix|nothing|null/);
  expect(fixture.config()).toMatch(/"cap": 7/);
});

test("two tabs on one conversation see the same run, whichever of them asked", async () => {
  model.answer(() => ({ text: WORDS, everyMs: 5 }));
  const [mine, other] = [await openTab(), await openTab()];
  await send(mine, "shared", "count", "shared-1");
  await Promise.all([until(mine, "shared-1", "final"), until(other, "shared-1", "final")]);
  const [here, there] = [toldOf(mine, "shared-1"), toldOf(other, "shared-1")];
  expect(here.at(-1)).toMatchObject({ state: "final", text: WORDS });
  expect(there.at(-1)).toEqual(here.at(-1));
  for (const told of [here, there]) {
    expect(told.map(({ seq }) => seq)).toEqual(told.map(({ seq }) => seq).toSorted((a, b) => a - b));
    for (const { text } of told) expect(WORDS.startsWith(text)).toBe(true);
  }
  expect(await historyOf(other, "shared")).toEqual(await historyOf(mine, "shared"));
});

test("a tab that reconnects in the middle of an answer receives all of it", async () => {
  model.answer(() => ({ text: WORDS, everyMs: 40 }));
  const first = await openTab();
  await send(first, "broken", "count", "broken-1");
  await until(first, "broken-1", "delta");
  first.close();
  const second = await openTab();
  await until(second, "broken-1", "final");
  const told = toldOf(second, "broken-1");
  // Each delta brings the whole text so far: whoever comes late has missed nothing.
  expect(told.filter(({ state }) => state === "delta").length).toBeGreaterThan(0);
  for (const { text } of told) expect(WORDS.startsWith(text)).toBe(true);
  expect(told.at(-1)).toMatchObject({ state: "final", text: WORDS });
});

test("a tab that was away when the answer ended finds it in the history", async () => {
  const held = Promise.withResolvers<void>();
  model.answer(async () => {
    await held.promise;
    return { text: "said meanwhile" };
  });
  const first = await openTab();
  await send(first, "away", "tell me", "away-1");
  first.close();
  const watcher = await openTab();
  held.resolve();
  await until(watcher, "away-1", "final");
  const back = await openTab();
  expect(await historyOf(back, "away")).toEqual([
    expect.stringContaining("tell me"),
    expect.stringContaining("said meanwhile"),
  ]);
});

test("a message whose answer was lost is sent again under its key, and runs once", async () => {
  let calls = 0;
  const held = Promise.withResolvers<void>();
  model.answer(async () => {
    calls += 1;
    await held.promise;
    return { text: "only once" };
  });
  const first = await openTab();
  // The connection breaks before the answer to the request is read.
  first.send({
    type: "req",
    id: "lost",
    method: "chat.send",
    params: { sessionKey: "again", message: "once", idempotencyKey: "again-1" },
  });
  await until(first, "again-1", "status");
  first.close();
  const second = await openTab();
  expect(await send(second, "again", "once", "again-1")).toMatchObject({ runId: "again-1", status: "in_flight" });
  held.resolve();
  await until(second, "again-1", "final");
  expect(await send(second, "again", "once", "again-1")).toMatchObject({ runId: "again-1", status: "ok" });
  expect(await send(second, "again", "other words", "again-1")).toMatchObject({ code: "INVALID_REQUEST" });
  expect(calls).toBe(1);
  expect(await historyOf(second, "again")).toHaveLength(2);
});

const shownShape = z.looseObject({
  payload: z.looseObject({ messages: z.array(z.looseObject({ content: z.array(z.record(z.string(), z.unknown())) })) }),
});
async function partsOf(tab: RawClient, session: string): Promise<readonly Record<string, unknown>[]> {
  const { payload } = shownShape.parse(await tab.request("chat.history", { sessionKey: session }));
  return payload.messages.flatMap(({ content }) => content);
}

test("a file of an answer is shown after it", async () => {
  writeFileSync(join(fixture.dir, "workspace", "dot.png"), PNG);
  model.answer(() => ({ text: "Here it is. [[media:dot.png]] [[media:gone.png]]" }));
  const tab = await openTab();
  await send(tab, "picture", "show me", "picture-1");
  await until(tab, "picture-1", "final");
  await expect.poll(() => partsOf(tab, "picture")).toHaveLength(4);
  const [, answer, trouble, image] = await partsOf(tab, "picture");
  expect(answer).toMatchObject({ text: "Here it is." });
  expect(trouble).toMatchObject({ text: expect.stringContaining("gone.png could not be attached") });
  const data = Buffer.from(PNG).toString("base64");
  expect(image).toEqual({ type: "image", mimeType: "image/png", fileName: "dot.png", data });
});

test("a message sent into a conversation is in it once, and open tabs receive it", async () => {
  model.answer(() => ({ text: "hello" }));
  const tab = await openTab();
  await send(tab, "noted", "hello", "noted-1");
  await until(tab, "noted-1", "final");
  const note = { channel: "webchat", to: "noted", message: "From **elsewhere**", idempotencyKey: "note-1" };
  const sent = await tab.request("send", note);
  expect(sent["payload"]).toMatchObject({ state: "sent", messageId: expect.stringMatching(/^[0-9a-f]{16}$/) });
  expect((await tab.request("send", note))["payload"]).toEqual(sent["payload"]);
  await tab.until((frame) => JSON.stringify(frame).includes("From **elsewhere**"));
  const told = (await partsOf(tab, "noted")).filter((part) => part["text"] === "From **elsewhere**");
  expect(told).toHaveLength(1);
  const typo = await tab.request("send", { ...note, to: "nobody", idempotencyKey: "note-2" });
  expect(typo["error"]).toMatchObject({ message: expect.stringContaining('there is no conversation "nobody"') });
  expect((await fixture.cli("channels", "status")).out).toMatch(/webchat +default +running/);
});
