import { lstatSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join, relative } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { entriesOf } from "../../kit/gateway/state-files.ts";
import { test } from "../../kit/gateway/world.ts";
import { usedState } from "./used-state.ts";

/** What may have the path of the state directory in it, each with the reason. */
const MAY: readonly (readonly [what: RegExp, why: string])[] = [
  [/^state\/places\.json$/, "it says where the directory was, so that older texts can be read"],
  [
    /^sessions\/[^/]+\.jsonl[^/]*: (?:message|summary|details)$/,
    "people, models and commands said it; it is read as the present path",
  ],
  [/^logs\//, "its lines are for people, and nothing reads them"],
  [/^events\.jsonl$/, "the hook of this test writes down what it was told"],
];

const SQLITE = "SQLite format 3";

/** Where a text is in a directory: `<file>`, `<file>: <table>.<column>`, or the part of a transcript. */
function placesOf(dir: string, text: string): readonly string[] {
  const found = filesIn(dir).flatMap((path): readonly string[] => {
    const name = relative(dir, path);
    if (lstatSync(path).isSymbolicLink()) return readlinkSync(path).includes(text) ? [name] : [];
    const bytes = readFileSync(path);
    if (bytes.subarray(0, SQLITE.length).toString() === SQLITE)
      return columnsWith(path, text).map((column) => `${name}: ${column}`);
    if (!bytes.includes(text)) return [];
    return /\.jsonl(?:\.|$)/.test(name) && name.startsWith("sessions/")
      ? partsWith(path, text).map((part) => `${name}: ${part}`)
      : [name];
  });
  return [...new Set(found)];
}

function filesIn(dir: string): readonly string[] {
  return readdirSync(dir, { withFileTypes: true }).flatMap((entry) => {
    const path = join(dir, entry.name);
    // The bytes of a write-ahead log are in the database as it is read.
    if (/-(?:wal|shm)$/.test(entry.name)) return [];
    return entry.isDirectory() ? filesIn(path) : [path];
  });
}

function columnsWith(path: string, text: string): readonly string[] {
  const db = new DatabaseSync(path, { readOnly: true });
  try {
    const tables = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
    return tables.flatMap(({ name }) =>
      db
        .prepare(`SELECT * FROM "${String(name)}"`)
        .all()
        .flatMap((row) => Object.entries(row))
        .filter(([, value]) => Buffer.from(value instanceof Uint8Array ? value : String(value)).includes(text))
        .map(([column]) => `${String(name)}.${column}`),
    );
  } finally {
    db.close();
  }
}

const partsWith = (path: string, text: string): readonly string[] =>
  entriesOf(path).flatMap((entry) =>
    Object.entries(entry)
      .filter(([, value]) => JSON.stringify(value).includes(text))
      .map(([part]) => part),
  );

test("a used state directory has its own path nowhere but where it must", async ({ world, expect }) => {
  const { home, gateway } = await usedState(world);
  const running = placesOf(home.stateDir, home.stateDir);
  expect(running).toContain("state/gateway.lock");
  expect(await gateway.kill()).toBe(0);
  const places = placesOf(home.stateDir, home.stateDir);
  expect(places.filter((place) => !MAY.some(([what]) => what.test(place)))).toEqual([]);
  // Without these the test would prove nothing.
  expect(places.some((place) => place.endsWith(": message"))).toBe(true);
  expect(placesOf(home.stateDir, "workspace/guest.md")).toContain("state/file-origins.jsonl");
  expect(placesOf(home.stateDir, "said on the page").length).toBeGreaterThan(2);
});
