import { appendFileSync, mkdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ownerScene } from "../../../scripts/docs/owner-scene.ts";
import { sessionKey } from "../../../src/types/ids.ts";
import { folder, note, open, paths } from "./memory-kit.ts";

const memorySearch = { isOn: true, sources: ["memory", "sessions"] } as const;

const line = (role: string, text: string, more: object = {}) =>
  `${JSON.stringify({ type: "message", timestamp: "2026-01-05T09:00:00.000Z", message: { role, content: [{ type: "text", text }], ...more } })}\n`;
const HEADER = `${JSON.stringify({ type: "session", version: 3, id: "x" })}\n`;

function withSessions() {
  const dir = folder();
  mkdirSync(join(dir, "sessions"));
  const rows: Record<string, unknown> = {};
  /** Writes a conversation that has been at rest for an hour. */
  const talk = (key: string, id: string, text: string, row: object = {}) => {
    rows[key] = { sessionId: id, updatedAt: 1, chatType: "direct", ...row };
    const file = join(dir, "sessions", `${id}.jsonl`);
    writeFileSync(file, HEADER + text);
    const then = new Date(Date.now() - 3_600_000);
    utimesSync(file, then, then);
    writeFileSync(join(dir, "sessions", "sessions.json"), JSON.stringify(rows));
    return file;
  };
  return { dir, talk, rows };
}

test("what was said in an earlier private conversation is found and read by its line", async () => {
  const { dir, talk } = withSessions();
  talk("telegram:default:1", "s-1", line("user", "my bicycle\nis blue") + line("assistant", "noted: blue bicycle"));
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
  const { dir, talk } = withSessions();
  const said = line("user", "the launch word is xylophone");
  talk("telegram:default:group:7", "s-group", said, { chatType: "group" });
  talk("telegram:default:8", "s-guest", said, { heardGuests: true });
  talk("agent:other:telegram:default:1", "s-other", said);
  talk("telegram:default:1::helper", "s-sub", said);
  talk("telegram:default:1", "s-own", said);
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
  const { dir, talk } = withSessions();
  const details = { externalContent: { untrusted: true, source: "web_fetch" } };
  const page = line("toolResult", "buy tulips", { toolName: "web_fetch", toolCallId: "c", details });
  talk(
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

test("a conversation that goes on is taken in when it rests, and one that is gone is not found", async () => {
  const { dir, talk, rows } = withSessions();
  const file = talk("telegram:default:1", "s-1", line("user", "the ferry leaves at noon"));
  const { search } = await open(dir, { memorySearch });
  expect(paths(await search("ferry"))).toEqual(["sessions/s-1.jsonl"]);
  appendFileSync(file, line("user", "the harbour is closed"));
  expect(paths(await search("harbour"))).toEqual([]);
  const then = new Date(Date.now() - 3_600_000);
  utimesSync(file, then, then);
  expect(paths(await search("harbour"))).toEqual(["sessions/s-1.jsonl"]);
  rows["telegram:default:1"] = { sessionId: "s-1", updatedAt: 1, chatType: "direct", heardGuests: true };
  writeFileSync(join(dir, "sessions", "sessions.json"), JSON.stringify(rows));
  expect(paths(await search("ferry"))).toEqual([]);
  rmSync(join(dir, "sessions", "sessions.json"));
  expect(paths(await search("ferry"))).toEqual([]);
});

test("conversations are not searched unless the settings say so", async () => {
  const { dir, talk } = withSessions();
  talk("telegram:default:1", "s-1", line("user", "the ferry leaves at noon"));
  expect(paths(await (await open(dir)).search("ferry"))).toEqual([]);
  const only = await open(dir, { memorySearch: { isOn: true, sources: ["sessions"] } });
  note(dir, "memory/a.md", "A ferry.\n");
  expect(paths(await only.search("ferry"))).toEqual(["sessions/s-1.jsonl"]);
});
