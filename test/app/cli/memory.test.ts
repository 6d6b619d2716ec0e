import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openJournal } from "../../../src/store/journal/journal.ts";
import { sessionKey } from "../../../src/types/ids.ts";
import { run, stateDir } from "../../kit/gateway/cli.ts";

const cli = (dir: string, ...args: string[]) => run(["memory", ...args], { OPENCLAW_STATE_DIR: dir });

test("memory status, index and search tell what is in the index, take notes in, and find them", async () => {
  const dir = stateDir(`{ plugins: { slots: { memory: "memory-core" } } }`);
  mkdirSync(join(dir, "workspace", "memory"), { recursive: true });
  writeFileSync(join(dir, "workspace", "MEMORY.md"), "# Boat\n\nThe mooring is number 12.\n");
  writeFileSync(join(dir, "workspace", "memory", "2026-01-05.md"), "The ferry leaves at noon.\n");
  const before = await cli(dir, "status", "--json");
  expect(JSON.parse(before.out)).toMatchObject({ agent: "main", files: 0, pending: 2, syncedAt: null });
  expect((await cli(dir, "index")).out).toMatch(/Notes +2 files, 2 parts, 0 not in the index/);
  expect((await cli(dir, "index", "--force")).out).toMatch(/Notes +2 files, 2 parts, 0 not in the index/);
  const found = await cli(dir, "search", "moorings");
  expect(found.out).toMatch(/MEMORY\.md#1 +# Boat The mooring is number 12\./);
  expect(found.code).toBe(0);
  const none = await cli(dir, "search", "zeppelin");
  expect([none.code, none.out]).toEqual([1, "Nothing is found.\n"]);
  expect((await cli(dir, "status", "--agent", "nobody")).code).not.toBe(0);
});

test("notes and conversations in the index are counted apart", async () => {
  const memorySearch = { sources: ["memory", "sessions"], experimental: { sessionMemory: true } };
  const dir = stateDir(JSON.stringify({ agents: { defaults: { memorySearch } } }));
  for (const name of ["workspace", "sessions", "state"]) mkdirSync(join(dir, name), { recursive: true });
  writeFileSync(join(dir, "workspace", "MEMORY.md"), "The mooring is number 12.\n");
  const said = { type: "message", timestamp: "2026-01-05T09:00:00.000Z", message: { role: "user", content: "ferry" } };
  writeFileSync(
    join(dir, "sessions", "s-1.jsonl"),
    `{"type":"session","version":3,"id":"s-1"}\n${JSON.stringify(said)}\n`,
  );
  const journal = await openJournal({ path: join(dir, "state", "journal.sqlite"), bootId: "one", sync: "normal" });
  const row = { sessionId: "s-1", updatedAt: 1, chatType: "direct" } as const;
  await journal.sessions.write([[sessionKey("telegram:default:1"), row]]);
  await journal.close();
  expect((await cli(dir, "index")).out).toMatch(/Notes +1 files and 1 conversations, 2 parts, 0 not in the index/);
  expect(JSON.parse((await cli(dir, "status", "--json")).out)).toMatchObject({ files: 2, conversations: 1 });
});

test("memory status --index takes notes in first, and --deep tries the endpoint", async () => {
  const memorySearch = { provider: "openai-compatible", model: "m", remote: { baseUrl: "http://127.0.0.1:9/v1" } };
  const dir = stateDir(JSON.stringify({ agents: { defaults: { memorySearch } } }));
  mkdirSync(join(dir, "workspace"), { recursive: true });
  writeFileSync(join(dir, "workspace", "MEMORY.md"), "The mooring is number 12.\n");
  const { out, code } = await cli(dir, "status", "--index", "--deep");
  expect(out).toMatch(/Notes +1 files, 1 parts, 0 not in the index/);
  expect(out).toMatch(/Endpoint +127\.0\.0\.1:9: it cannot be reached/);
  expect(code).toBe(0);
});
