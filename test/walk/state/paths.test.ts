import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "../../kit/gateway/world.ts";
import { usedState } from "./used-state.ts";

const isDatabase = (path: string): boolean => readFileSync(path).subarray(0, 15).toString() === "SQLite format 3";

/** Where a text is in a state directory: `file`, or `file: table.column`. */
export function placesOf(dir: string, text: string): readonly string[] {
  const files = readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
  return files.flatMap((path) => {
    const name = relative(dir, path);
    if (/-(?:wal|shm)$/.test(name)) return [];
    if (isDatabase(path)) return columnsWith(path, text).map((column) => `${name}: ${column}`);
    return readFileSync(path).includes(text) ? [name] : [];
  });
}

function columnsWith(path: string, text: string): readonly string[] {
  const db = new DatabaseSync(path, { readOnly: true });
  try {
    const tables = db
      .prepare("SELECT name FROM sqlite_schema WHERE type = 'table'")
      .all()
      .map(({ name }) => String(name));
    return tables.flatMap((table) => {
      const rows = db.prepare(`SELECT * FROM "${table}"`).all();
      const columns = new Set<string>();
      for (const row of rows)
        for (const [column, value] of Object.entries(row)) {
          const bytes = value instanceof Uint8Array ? Buffer.from(value) : Buffer.from(String(value));
          if (bytes.includes(text)) columns.add(`${table}.${column} e.g. ${String(value).slice(0, 1500)}`);
        }
      return [...columns];
    });
  } finally {
    db.close();
  }
}

test("gather", { timeout: 200_000 }, async ({ world, expect }) => {
  const { home, gateway } = await usedState(world);
  expect(await gateway.kill()).toBe(0);
  const found = placesOf(home.stateDir, home.stateDir);
  writeFileSync("/tmp/gather.txt", found.join("\n\n"));
  const { execSync } = await import("node:child_process");
  execSync(`rm -rf /tmp/gathered; cp -a ${home.stateDir} /tmp/gathered; echo ${home.stateDir} > /tmp/gathered.dir`);
});
