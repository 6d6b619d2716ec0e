import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { z } from "zod";
import { appendChange, readChanges } from "../../../extensions/memory-core/changes.ts";
import { emptyTrash } from "../../../src/app/agents/trash.ts";
import { excessOf, growthOf, growthText, QUICK, THOROUGH, type GrowthRow } from "../../../src/app/growth/growth.ts";
import { GROWING } from "../../../src/app/growth/things.ts";
import { configSchema } from "../../../src/app/config/schema/schema.ts";

const MIB = 1_048_576;

function directory(): string {
  const dir = mkdtempSync(join(tmpdir(), "openclaw-growth-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

/** A file of this size, whose blocks the disk does not have. */
function put(dir: string, name: string, bytes: number): void {
  const path = join(dir, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, "");
  truncateSync(path, bytes);
}

async function look(dir: string, config: object = {}, effort = THOROUGH): Promise<ReadonlyMap<string, GrowthRow>> {
  const scene = { config: configSchema.parse(config), stateDir: dir, home: dir, env: { HOME: dir } };
  return new Map((await growthOf(scene, effort)).map((one) => [one.name, one]));
}

test("each thing has a bound, a remedy and the keys of its bound, and a file belongs to one thing", async () => {
  const config = configSchema.parse({});
  for (const { name, bound, fix, keys } of GROWING) {
    expect(bound(config)?.text, name).toBeTruthy();
    expect(fix, name).not.toBe("");
    for (const key of keys) {
      const sections: Record<string, unknown> = config;
      expect(Object.keys(sections), `${name}: ${key}`).toContain(key.split(".")[0]);
    }
  }
  const dir = directory();
  const files = {
    "state/journal.sqlite": 1,
    "state/journal.sqlite-wal": 2,
    "sessions/a.jsonl": 4,
    "sessions/a.jsonl.reset.2026-01-01T00-00-00.000Z": 8,
    "media/x.png": 16,
    "logs/openclaw-2026-01-01.log": 32,
    "logs/commands.log": 64,
    "trash/2026-01-01T00-00-00-000Z-workspace-x/a/b.md": 128,
    "state/memory/main.sqlite": 256,
    "state/memory/main.changes.jsonl": 512,
    "versions/1/node_modules/x.js": 1024,
    "workspace-x/notes.md": 2048,
    "openclaw.json": 4096,
    "somewhere/else": 8192,
  };
  for (const [name, bytes] of Object.entries(files)) put(dir, name, bytes);
  const all = await look(dir);
  const sizes = Object.fromEntries(
    [...all.values()].flatMap(({ name, bytes = 0 }) => (bytes > 0 ? [[name, bytes]] : [])),
  );
  expect(sizes).toEqual({
    journal: 3,
    transcripts: 12,
    media: 16,
    logs: 32,
    "other logs": 64,
    trash: 128,
    memory: 256,
    "origins of notes": 512,
    versions: 1024,
    workspaces: 2048,
    "small files": 4096,
    "other files": 8192,
  });
  expect(growthText([...all.values()])).toBe("16 KiB, most of it other files (8 KiB)");
});

test("a quick look asks few files for their size and does not enter folders of programs; links are not followed", async () => {
  const dir = directory();
  for (let at = 0; at < 1200; at += 1) put(dir, `sessions/${at}.jsonl`, 10);
  put(dir, "workspace/a.md", 5);
  put(dir, "elsewhere/deep/a.md", 5);
  symlinkSync(dir, join(dir, "sessions", "round"));
  symlinkSync("/dev/zero", join(dir, "media-link"));
  const quick = await look(dir, {}, QUICK);
  expect(quick.get("transcripts")).toMatchObject({ bytes: 10_000, isPartial: true });
  expect(quick.get("workspaces")?.bytes).toBeUndefined();
  expect(quick.get("other files")?.bytes).toBeUndefined();
  expect(growthText([...quick.values()])).toMatch(/^at least .*transcripts \(at least 10 KiB\)$/);
  const thorough = await look(dir);
  expect(thorough.get("transcripts")).toMatchObject({ bytes: 12_000, isPartial: false });
  expect(thorough.get("workspaces")?.bytes).toBe(5);
});

test("what has no bound, or far more than it, is named; what is a little beyond is not", async () => {
  const dir = directory();
  const names = async (config: object) => excessOf([...(await look(dir, config)).values()]).map(({ name }) => name);
  expect(await names({})).toEqual([]);
  expect(await names({ session: { maintenance: { maxDiskBytes: false } } })).toEqual(["transcripts"]);
  put(dir, "media/a", 14 * MIB);
  put(dir, "logs/openclaw-2026-01-01.log", 16 * MIB);
  expect(await names({ retention: { mediaMaxMb: 10, logsMaxMb: 10 } })).toEqual(["logs"]);
});

test("scheduled backups and workspaces elsewhere are counted too", async () => {
  const [dir, outside] = [directory(), directory()];
  put(outside, "2026-01-01T00-00-00.000+00-00-openclaw-backup.tar.gz", 7);
  put(outside, "mine.tar.gz", 9);
  put(outside, "notes/a.md", 4);
  const all = await look(dir, {
    backup: { every: "24h", output: outside },
    agents: { defaults: { workspace: join(outside, "notes") } },
  });
  expect(all.get("backups")).toMatchObject({ path: outside, bytes: 7, bound: "the newest 7" });
  expect(all.get("workspaces")).toMatchObject({ path: join(outside, "notes"), bytes: 4 });
});

test("the trash is emptied of what has been in it long enough", async () => {
  const dir = directory();
  const trash = join(dir, "trash");
  expect(await emptyTrash(dir, 90, Date.now())).toBe(0);
  put(dir, "trash/2026-01-01T00-00-00-000Z-workspace-old/a.md", 1);
  put(dir, "trash/2026-03-30T00-00-00-000Z-workspace-new/a.md", 1);
  put(dir, "trash/mine/a.md", 1);
  expect(await emptyTrash(dir, 90, Date.parse("2026-04-01T12:00:00Z"))).toBe(1);
  expect(readdirSync(trash).toSorted()).toEqual(["2026-03-30T00-00-00-000Z-workspace-new", "mine"]);
  expect(existsSync(join(trash, "mine", "a.md"))).toBe(true);
});

test("the records of notes are made shorter at each 16 MiB, and those of content of others stay", async () => {
  const file = join(directory(), "main.changes.jsonl");
  const record = (path: string, origin: "owner" | "untrusted") => ({
    at: "2026-01-01T00:00:00.000Z",
    path,
    tool: "write",
    by: "owner operator",
    origin,
    added: [],
    removed: [],
  });
  await appendChange(file, record("first.md", "untrusted"));
  const line = `${JSON.stringify({ ...record("filler.md", "owner"), tool: "x".repeat(10_000) })}\n`;
  appendFileSync(file, line.repeat(Math.floor((16 * MIB) / line.length)));
  appendFileSync(file, `${" ".repeat(16 * MIB - statSync(file).size - 2)}\n`);
  await appendChange(file, record("last.md", "owner"));
  expect(statSync(file).size).toBeLessThan(9 * MIB);
  const paths = readChanges(file).map(({ path }) => path);
  expect([paths[0], paths.at(-1)]).toEqual(["first.md", "last.md"]);
  await appendChange(file, record("next.md", "owner"));
  expect(readChanges(file).at(-1)?.path).toBe("next.md");
  expect(readdirSync(dirname(file))).toEqual(["main.changes.jsonl"]);
});

test("the log of commands becomes the one before when it is full", async () => {
  const dir = directory();
  vi.stubEnv("OPENCLAW_STATE_DIR", dir);
  onTestFinished(() => void vi.unstubAllEnvs());
  const url = new URL("../../../hooks/command-logger/handler.js", import.meta.url).href;
  const { note } = z.object({ note: z.custom<(event: object) => Promise<void>>() }).parse(await import(url));
  const event = { action: "new", sessionKey: "a", timestamp: new Date(0), context: {} };
  await note(event);
  put(dir, "logs/commands.log", 17 * MIB);
  await note(event);
  await note(event);
  expect(statSync(join(dir, "logs", "commands.log.1")).size).toBe(17 * MIB);
  expect(readFileSync(join(dir, "logs", "commands.log"), "utf8").split("\n")).toHaveLength(3);
});
