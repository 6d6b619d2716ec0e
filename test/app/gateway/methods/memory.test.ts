import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { appendChange, lineHashes, type NoteRecord } from "../../../../extensions/memory-core/changes.ts";
import { startGatewayFixture, type GatewayFixture } from "../../../kit/gateway/in-process.ts";
import { merge } from "../../../kit/gateway/world.ts";
import type { RawClient } from "../../../kit/server/server.ts";

let fixture: GatewayFixture;
let client: RawClient;

const answered = z.looseObject({
  payload: z.record(z.string(), z.unknown()).optional(),
  error: z.looseObject({ code: z.string(), message: z.string() }).optional(),
});
const ask = async (method: string, params: Record<string, unknown> = {}) =>
  answered.parse(await client.request(method, params));
const workspace = (...path: readonly string[]): string => join(fixture.dir, "workspace", ...path);

const CHANGE = { tool: "write", run: "run-1", session: "webchat:default:tea", by: "owner operator" } as const;
const changed = (record: Partial<NoteRecord> & Pick<NoteRecord, "at" | "path" | "origin">): Promise<void> =>
  appendChange(join(fixture.dir, "state", "memory", "main.changes.jsonl"), { ...CHANGE, ...record });

async function connect(): Promise<void> {
  client = await fixture.client();
}

beforeAll(async () => {
  fixture = await startGatewayFixture({ enabled: false });
  await connect();
  mkdirSync(workspace("memory"), { recursive: true });
});
afterAll(async () => {
  client.close();
  await fixture.close();
});

test("each line of a note has the change that wrote it, and others have none", async () => {
  writeFileSync(workspace("memory", "a.md"), "Own line.\n\nOf a page.\nBy hand.\n");
  const at = "2026-11-01T10:00:00.000Z";
  await changed({ at, path: "memory/a.md", origin: "owner", added: lineHashes(["Own line."]) });
  await changed({
    at,
    path: "memory/a.md",
    origin: "untrusted",
    sources: "web_fetch x",
    added: lineHashes(["Of a page."]),
  });
  const { payload } = await ask("memory.note", { path: "memory/a.md" });
  const owner = { at, origin: "owner", by: "owner operator", tool: "write", runId: "run-1" };
  const sessionKey = "agent:main:webchat:default:tea";
  expect(payload).toEqual({
    agentId: "main",
    path: "memory/a.md",
    from: 1,
    total: 5,
    lines: [
      { text: "Own line.", origin: 0 },
      { text: "" },
      { text: "Of a page.", origin: 1 },
      { text: "By hand." },
      { text: "" },
    ],
    origins: [
      { ...owner, sessionKey },
      { ...owner, origin: "untrusted", sources: "web_fetch x", sessionKey },
    ],
  });
  const part = await ask("memory.note", { path: "memory/a.md", from: 4, lines: 1 });
  expect(part.payload).toMatchObject({ from: 4, total: 5, lines: [{ text: "By hand." }], origins: [] });
});

test("a change that could not be compared by lines is a guess for each line", async () => {
  writeFileSync(workspace("memory", "whole.md"), "Anything.");
  await changed({
    at: "2026-11-02T10:00:00.000Z",
    path: "memory/whole.md",
    origin: "automation",
    by: "automation cron",
  });
  const { payload } = await ask("memory.note", { path: "memory/whole.md" });
  expect(payload?.["origins"]).toMatchObject([{ origin: "automation", by: "automation cron", isGuess: true }]);
});

test("a line is forgotten only while it has the text that was shown", async () => {
  const file = workspace("memory", "b.md");
  writeFileSync(file, "one\ntwo\nthree\n");
  const of = { path: "memory/b.md", line: 2 };
  expect((await ask("memory.forget", { ...of, text: "one" })).error).toMatchObject({ details: { kind: "CONFLICT" } });
  expect(readFileSync(file, "utf8")).toBe("one\ntwo\nthree\n");
  expect((await ask("memory.forget", { ...of, text: "two" })).payload).toMatchObject({ agentId: "main", line: 2 });
  expect(readFileSync(file, "utf8")).toBe("one\nthree\n");
});

test.each([
  "../openclaw.json",
  "/etc/passwd",
  "SOUL.md",
  "memory/../../openclaw.json",
  "memory/none.md",
  "MEMORY.md\0",
])("what is no note is not read and not changed: %j", async (path) => {
  const { error } = await ask("memory.note", { path });
  expect(error).toMatchObject({ details: { kind: "NOT_FOUND" } });
  const forgotten = await ask("memory.forget", { path, line: 1, text: "" });
  expect(forgotten.error).toMatchObject({ details: { kind: "NOT_FOUND" } });
});

test("the state of the index says why it is not searched, with the command that helps", async () => {
  const entry = { id: "main", memorySearch: { enabled: false } };
  const before = fixture.config();
  const cases = [
    [{ plugins: { slots: { memory: "none" } } }, "plugins.slots.memory memory-core"],
    [{ agents: { defaults: { memorySearch: { enabled: false } } } }, "agents.defaults.memorySearch.enabled true"],
    [{ agents: { list: [entry] } }, "agents.list[0].memorySearch.enabled true"],
  ] as const;
  for (const [change, fix] of cases) {
    client.close();
    const config = z.record(z.string(), z.unknown()).parse(JSON.parse(before));
    writeFileSync(join(fixture.dir, "openclaw.json"), JSON.stringify(merge(config, change)));
    // oxlint-disable-next-line no-await-in-loop -- one gateway after the other
    await fixture.restart();
    // oxlint-disable-next-line no-await-in-loop -- as above
    await connect();
    // oxlint-disable-next-line no-await-in-loop -- as above
    const { payload } = await ask("doctor.memory.status");
    expect(payload?.["index"]).toMatchObject({ off: expect.any(String), fix: `openclaw config set ${fix}` });
  }
});

test("notes outside of the workspace and those that are not searched are listed", async () => {
  client.close();
  const extra = join(fixture.dir, "more");
  mkdirSync(extra, { recursive: true });
  writeFileSync(join(extra, "plan.md"), "Plans.\n");
  writeFileSync(workspace("memory", "large.md"), "x".repeat(4_000_001));
  const config = z.record(z.string(), z.unknown()).parse(JSON.parse(fixture.config()));
  const agents = { list: [], defaults: { memorySearch: { extraPaths: [extra] } } };
  writeFileSync(join(fixture.dir, "openclaw.json"), JSON.stringify(merge(config, { agents })));
  await fixture.restart();
  await connect();
  const { payload } = await ask("memory.notes");
  expect(payload?.["notes"]).toEqual(
    expect.arrayContaining([
      { path: join(extra, "plan.md"), size: 7, updatedAtMs: expect.any(Number) },
      { path: "memory/large.md", size: 4_000_001, updatedAtMs: expect.any(Number), leftOut: "too large" },
    ]),
  );
  const plan = await ask("memory.note", { path: join(extra, "plan.md") });
  expect(plan.payload?.["lines"]).toMatchObject([{ text: "Plans." }, { text: "" }]);
});
