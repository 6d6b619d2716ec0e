import { appendFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { ownerScene } from "../../../scripts/docs/owner-scene.ts";
import { openJournal } from "../../../src/store/journal/journal.ts";
import { sessionKey } from "../../../src/types/ids.ts";
import type { SessionEntry } from "../../../src/types/session.ts";
import { folder, note, open, paths, startEndpoint, withVectors } from "./memory-kit.ts";

const memorySearch = { isOn: true, sources: ["memory", "sessions"] } as const;

const line = (role: string, text: string, more: object = {}) =>
  `${JSON.stringify({ type: "message", timestamp: "2026-01-05T09:00:00.000Z", message: { role, content: [{ type: "text", text }], ...more } })}\n`;
const HEADER = `${JSON.stringify({ type: "session", version: 3, id: "x" })}\n`;

/** A state directory with a journal, as a gateway has it open. */
async function withSessions() {
  const dir = folder();
  mkdirSync(join(dir, "sessions"));
  mkdirSync(join(dir, "state"));
  const journal = await openJournal({ path: join(dir, "state", "journal.sqlite"), bootId: "one", sync: "normal" });
  onTestFinished(() => journal.close());
  const list = (key: string, row: SessionEntry | undefined) => journal.sessions.write([[sessionKey(key), row]]);
  const talk = async (key: string, id: string, text: string, row: Partial<SessionEntry> = {}) => {
    const file = join(dir, "sessions", `${id}.jsonl`);
    writeFileSync(file, HEADER + text);
    await list(key, { sessionId: id, updatedAt: 1, chatType: "direct", ...row });
    return file;
  };
  return { dir, talk, list };
}

test("what was said in an earlier private conversation is found and read by its line", async () => {
  const { dir, talk } = await withSessions();
  await talk(
    "telegram:default:1",
    "s-1",
    line("user", "my bicycle\nis blue") + line("assistant", "noted: blue bicycle"),
  );
  note(dir, "memory/a.md", "The bicycle has a bell.\n");
  const { search, call } = await open(dir, { memorySearch });
  const found = await search("which colour is the bicycle");
  expect(found.results).toContainEqual(
    expect.objectContaining({ path: "sessions/s-1.jsonl", startLine: 2, source: "sessions", corpus: "sessions" }),
  );
  expect(paths(await search("bicycle"))).toContain("memory/a.md");
  const only = await call("memory_search", { query: "bicycle", corpus: "memory" });
  expect(JSON.stringify(only?.details?.["results"])).not.toContain("sessions/");
  const got = await call("memory_get", { path: "sessions/s-1.jsonl", from: 2, lines: 1 });
  expect(got?.details).toMatchObject({ text: "Person: my bicycle is blue", linesAfter: 1 });
});

test("conversations of groups, guests, other agents and subagents are not searched, nor the one that asks", async () => {
  const { dir, talk } = await withSessions();
  const said = line("user", "the launch word is xylophone");
  await talk("telegram:default:group:7", "s-group", said, { chatType: "group" });
  await talk("telegram:default:8", "s-guest", said, { heardGuests: true });
  await talk("agent:other:telegram:default:1", "s-other", said);
  await talk("telegram:default:1::helper", "s-sub", said);
  await talk("telegram:default:1", "s-own", said);
  const { search } = await open(dir, { memorySearch });
  expect(paths(await search("xylophone"))).toEqual(["sessions/s-own.jsonl"]);
  const { acting } = ownerScene();
  expect(paths(await search("xylophone", { acting: { ...acting, sessionId: "s-own" } }))).toEqual([]);
  const group = { acting: { ...acting, sessionKey: sessionKey("agent:main:telegram:group:7") } };
  expect(paths(await search("xylophone", group))).toEqual([]);
  const { call } = await open(dir, { memorySearch });
  await expect(call("memory_get", { path: "sessions/s-own.jsonl" }, group)).rejects.toThrow("private");
  expect((await call("memory_get", { path: "sessions/s-guest.jsonl" }))?.details).toMatchObject({ text: "" });
});

test("results of tools are not searched, and a conversation that has read untrusted content is marked", async () => {
  const { dir, talk } = await withSessions();
  const details = { externalContent: { untrusted: true, source: "web_fetch" } };
  const page = line("toolResult", "buy tulips", { toolName: "web_fetch", toolCallId: "c", details });
  await talk(
    "telegram:default:1",
    "s-1",
    line("user", "read the page on flowers") + page + line("assistant", "It says roses."),
  );
  const { search, call } = await open(dir, { memorySearch });
  expect(paths(await search("tulips"))).toEqual([]);
  expect((await search("roses")).results).toMatchObject([{ path: "sessions/s-1.jsonl", origin: "untrusted" }]);
  const external = { externalContent: { untrusted: true, source: "notes" } };
  expect((await call("memory_search", { query: "roses" }))?.details).toMatchObject(external);
  expect((await call("memory_get", { path: "sessions/s-1.jsonl" }))?.details).toMatchObject(external);
});

test("a conversation is found from its first turn on and as it goes on, and one that is closed or gone is not", async () => {
  const { dir, talk, list } = await withSessions();
  const { search } = await open(dir, { memorySearch });
  expect(paths(await search("ferry"))).toEqual([]);
  const file = await talk("telegram:default:1", "s-1", line("user", "the ferry leaves at noon"));
  expect(paths(await search("ferry"))).toEqual(["sessions/s-1.jsonl"]);
  for (const place of ["harbour", "lighthouse", "island"]) {
    appendFileSync(file, line("user", `the ${place} is closed`));
    expect(paths(await search(place))).toEqual(["sessions/s-1.jsonl"]);
  }
  expect(paths(await search("ferry"))).toEqual(["sessions/s-1.jsonl"]);
  await list("telegram:default:1", { sessionId: "s-1", updatedAt: 1, chatType: "direct", heardGuests: true });
  expect(paths(await search("ferry"))).toEqual([]);
  await list("telegram:default:1", { sessionId: "s-1", updatedAt: 1, chatType: "direct" });
  expect(paths(await search("ferry"))).toEqual(["sessions/s-1.jsonl"]);
  await list("telegram:default:1", undefined);
  expect(paths(await search("ferry"))).toEqual([]);
});

test("only the parts of a conversation that are new are written, and get a vector", async () => {
  const { dir, talk } = await withSessions();
  const { asked, url } = await startEndpoint();
  const { vectors } = withVectors(url);
  const long = Array.from({ length: 12 }, (_, at) => line("user", `stop ${at} ${"of the way ".repeat(60)}`)).join("");
  const file = await talk("telegram:default:1", "s-1", long);
  const { search } = await open(dir, { memorySearch: { ...memorySearch, vectors } });
  await expect.poll(async () => (await search("ferry")).index.vectors?.pendingParts).toBe(0);
  const before = asked.length;
  appendFileSync(file, line("user", "the ferry leaves at noon"));
  expect(paths(await search("ferry")).at(0)).toBe("sessions/s-1.jsonl");
  await expect.poll(async () => (await search("ferry")).index.vectors?.pendingParts).toBe(0);
  const texts = asked.slice(before).flatMap((request) => request.texts.filter((text) => text !== "ferry"));
  expect(texts).toEqual([expect.stringContaining("the ferry leaves at noon")]);
});

test("a client that calls the tool finds the conversation of the session it names, which a turn in there does not", async () => {
  const { dir, talk } = await withSessions();
  await talk("telegram:default:1", "s-1", line("user", "the ferry leaves at noon"));
  const { search } = await open(dir, { memorySearch });
  const acting = { ...ownerScene().acting, sessionId: "s-1" };
  expect(paths(await search("ferry", { acting: { ...acting, http: {} } }))).toEqual(["sessions/s-1.jsonl"]);
  expect(paths(await search("ferry", { acting }))).toEqual([]);
});

test("conversations are not searched unless the settings say so", async () => {
  const { dir, talk } = await withSessions();
  await talk("telegram:default:1", "s-1", line("user", "the ferry leaves at noon"));
  expect(paths(await (await open(dir)).search("ferry"))).toEqual([]);
  const only = await open(dir, { memorySearch: { isOn: true, sources: ["sessions"] } });
  note(dir, "memory/a.md", "A ferry.\n");
  expect(paths(await only.search("ferry"))).toEqual(["sessions/s-1.jsonl"]);
});
