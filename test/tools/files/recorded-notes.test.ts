import { mkdtempSync, readFileSync, rmSync, writeFileSync, mkdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { ownerScene } from "../../../scripts/docs/owner-scene.ts";
import { openNoteChanges } from "../../../src/app/compose/tools/note-changes.ts";
import { hostBackends } from "../../../src/tools/host/host.ts";
import { recordingNotes } from "../../../src/tools/memory/recorded.ts";
import { backendTools } from "../../../src/tools/tools.ts";
import type { NoteChange, NoteChanges } from "../../../src/types/memory/note-change.ts";
import { resolvePaths } from "../../../src/app/config/paths.ts";
import { agentId } from "../../../src/types/ids.ts";
import { recordLog } from "../../kit/log.ts";
import { noRules, toolContext } from "../../kit/tools.ts";

function workspace() {
  const dir = mkdtempSync(join(tmpdir(), "recorded-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  mkdirSync(join(dir, "memory"));
  const scene = ownerScene();
  const agent = { ...scene.agent, workspace: dir };
  const here = { ...scene, ...hostBackends({ settings: agent, rights: "owner", deniedPaths: [] }), agent };
  const changes: NoteChange[] = [];
  const record = async (change: NoteChange) => void changes.push(change);
  const isUntrusted: NoteChanges["isUntrusted"] = async ({ text }) => text.includes("of a page");
  const tools = recordingNotes(backendTools(noRules), { record, isUntrusted });
  const call = (name: string, input: unknown) =>
    tools
      .find((tool) => tool.name === name)
      ?.forRun(here)
      ?.run(input, toolContext(dir));
  return { dir, changes, call };
}

test("each change of a note is recorded with its lines, and that of another file is not", async () => {
  const { dir, changes, call } = workspace();
  await call("write", { path: "MEMORY.md", content: "one\ntwo\n" });
  await call("edit", { path: join(dir, "MEMORY.md"), oldText: "two", newText: "three" });
  await call("write", { path: "notes.md", content: "one\n" });
  await call("write", { path: "memory/../other.md", content: "one\n" });
  const patch = "*** Begin Patch\n*** Add File: memory/a.md\n+four\n*** Delete File: MEMORY.md\n*** End Patch";
  await call("apply_patch", { input: patch });
  expect(changes.map(({ path, tool, lines }) => [path, tool, lines])).toEqual([
    ["MEMORY.md", "write", { added: ["one", "two"], removed: [] }],
    ["MEMORY.md", "edit", { added: ["three"], removed: ["two"] }],
    ["memory/a.md", "apply_patch", { added: ["four"], removed: [] }],
    ["MEMORY.md", "apply_patch", undefined],
  ]);
  expect(changes[0]).toMatchObject({ agentId: "main", sessionKey: "s1", runId: "r1", principal: { kind: "owner" } });
});

test("what read shows of a note is untrusted content when such a conversation wrote it", async () => {
  const { dir, call } = workspace();
  writeFileSync(join(dir, "MEMORY.md"), "a line of a page\nmy own line\n");
  writeFileSync(join(dir, "other.md"), "a line of a page\n");
  const marks = async (input: unknown) => (await call("read", input))?.details?.["externalContent"];
  expect(await marks({ path: "MEMORY.md" })).toEqual({ untrusted: true, source: "notes" });
  expect(await marks({ path: "MEMORY.md", offset: 2 })).toBeUndefined();
  expect(await marks({ path: "other.md" })).toBeUndefined();
});

test("a write that fails or changes nothing is not recorded", async () => {
  const { dir, changes, call } = workspace();
  writeFileSync(join(dir, "MEMORY.md"), "one\n");
  await call("write", { path: "MEMORY.md", content: "one\n" });
  await expect(call("edit", { path: "MEMORY.md", oldText: "nine", newText: "ten" })).rejects.toThrow();
  expect(changes).toEqual([]);
});

test("the file of changes has origins and no text, and a full disk does not stop the write", async () => {
  const { dir, changes, call } = workspace();
  await call("write", { path: "MEMORY.md", content: "the salary is 4711\n" });
  const mark = { sources: [{ tool: "web_fetch", source: "web_fetch" }], hasReadFiles: false };
  const sessions = { peek: () => ({ sessionId: "x", updatedAt: 0, untrustedContent: mark }) };
  const log = recordLog();
  const clock = { now: () => 0 };
  const paths = resolvePaths({ HOME: dir, OPENCLAW_STATE_DIR: join(dir, "state-dir") });
  const [change] = changes;
  if (change) await openNoteChanges({ paths }, { sessions, clock, log }).record(change);
  const kept = readFileSync(join(paths.stateSub, "memory", "main.changes.jsonl"), "utf8");
  expect(JSON.parse(kept)).toMatchObject({ at: "1970-01-01T00:00:00.000Z", origin: "untrusted", sources: "web_fetch" });
  expect(kept).not.toContain("4711");
  const opened = openNoteChanges({ paths }, { sessions, clock, log });
  const shown = { agentId: agentId("main"), path: "MEMORY.md" };
  expect(await opened.isUntrusted({ ...shown, text: "x\n the salary is 4711" })).toBe(true);
  expect(await opened.isUntrusted({ ...shown, text: "the salary" })).toBe(false);
  expect(await opened.isUntrusted({ ...shown, path: "memory/a.md", text: "the salary is 4711" })).toBe(false);
  const long = "every quarter the salary is paid twice, says the page";
  if (change) {
    const moved = { ...change, path: "memory/b.md", lines: { added: [long], removed: [] } };
    await opened.record(moved);
  }
  expect(await opened.isUntrusted({ ...shown, text: `${long}\n` })).toBe(true);
  const nowhere = { paths: { ...paths, stateSub: join(dir, "MEMORY.md") } };
  if (change) await openNoteChanges(nowhere, { sessions, clock, log }).record(change);
  expect(JSON.stringify(log)).toContain("the origin of a note is not kept");
});

test("a note counts as untrusted while the file of changes cannot be read, or a change could not be recorded", async () => {
  const { dir, changes, call } = workspace();
  await call("write", { path: "MEMORY.md", content: "one line\n" });
  const log = recordLog();
  const paths = resolvePaths({ HOME: dir, OPENCLAW_STATE_DIR: join(dir, "state-dir") });
  const mark = { sources: [{ tool: "web_fetch", source: "web_fetch" }], hasReadFiles: false };
  const sessions = { peek: () => ({ sessionId: "x", updatedAt: 0, untrustedContent: mark }) };
  const opened = openNoteChanges({ paths }, { sessions, clock: { now: () => 0 }, log });
  const shown = { agentId: agentId("main"), path: "MEMORY.md", text: "one line" };
  expect(await opened.isUntrusted(shown)).toBe(false);
  const file = join(paths.stateSub, "memory", "main.changes.jsonl");
  mkdirSync(file, { recursive: true });
  expect(await opened.isUntrusted(shown)).toBe(true);
  expect(JSON.stringify(log)).toContain("so it counts as untrusted");
  const [change] = changes;
  if (change) await opened.record(change);
  rmSync(file, { recursive: true });
  expect(await opened.isUntrusted(shown)).toBe(true);
  expect(await opened.isUntrusted({ ...shown, path: "memory/a.md" })).toBe(false);
});
