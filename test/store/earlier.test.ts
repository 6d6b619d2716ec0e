import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { checks } from "../../src/store/checks.ts";
import { readCronJobs } from "../../src/store/cron/read-jobs.ts";
import { SCHEMA_VERSION } from "../../src/store/database/schema.ts";
import { versionRefusal } from "../../src/store/database/version.ts";
import { openJournal } from "../../src/store/journal/journal.ts";
import { openJournalToRead } from "../../src/store/journal/read-only.ts";
import { readSessionTable } from "../../src/store/journal/session-table.ts";
import { EARLIER, unpackEarlierState } from "../kit/store/earlier-state.ts";

type Row = Record<string, unknown>;

async function place(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), "openclaw-earlier-"));
  onTestFinished(() => rm(dir, { recursive: true, force: true }));
  return dir;
}

const journalIn = (dir: string): string => join(dir, "state", "journal.sqlite");

async function earlierState(): Promise<string> {
  const dir = await place();
  await unpackEarlierState(dir);
  return dir;
}

/** Reads a file with SQLite alone. */
function inFile<T>(path: string, read: (db: DatabaseSync) => T): T {
  const db = new DatabaseSync(path);
  try {
    return read(db);
  } finally {
    db.close();
  }
}

const tablesOf = (db: DatabaseSync): readonly string[] =>
  db
    .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name")
    .all()
    .map(({ name }) => String(name));

const rowsOf = (db: DatabaseSync): Readonly<Record<string, readonly Row[]>> =>
  Object.fromEntries(
    tablesOf(db).map((table) => [
      table,
      db
        .prepare(`SELECT * FROM ${table}`)
        .all()
        .map((row) => ({ ...row })),
    ]),
  );

/** Everything that a schema promises, without the order of columns: a step can add them only at the end. */
const schemaOf = (db: DatabaseSync) =>
  Object.fromEntries(
    tablesOf(db).map((table) => [
      table,
      {
        columns: db
          .prepare(
            `SELECT name, type, "notnull", dflt_value, pk, hidden FROM pragma_table_xinfo('${table}') ORDER BY name`,
          )
          .all(),
        indexes: db
          .prepare(`SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND tbl_name = '${table}' ORDER BY name`)
          .all(),
        checks: db
          .prepare("SELECT sql FROM sqlite_schema WHERE name = ?")
          .all(table)
          .flatMap(({ sql }) =>
            String(sql).match(/CHECK \(.*?\)|UNIQUE \(.*?\)|WITHOUT ROWID|AUTOINCREMENT|AS \(.*?\)/g),
          ),
      },
    ]),
  );

async function openOnce(path: string) {
  const journal = await openJournal({ path, bootId: "b" });
  await journal.close();
}

test("a new journal and those of 18, 21, 22 and the present version can be opened", () => {
  const versions = Array.from({ length: SCHEMA_VERSION + 2 }, (_, version) => version);
  const db = new DatabaseSync(":memory:");
  const opened = versions.filter((version) => {
    db.exec(`PRAGMA user_version = ${version}`);
    return versionRefusal(db, "journal.sqlite") === undefined;
  });
  expect(opened).toEqual([0, 18, 21, 22, 23]);
});

test("a journal of version 18 keeps every row, and has the schema of a new one", async () => {
  const dir = await earlierState();
  const path = journalIn(dir);
  const before = inFile(path, rowsOf);
  expect(inFile(path, (db) => db.prepare("PRAGMA user_version").get())).toEqual({ user_version: 18 });
  const empty = Object.keys(before).filter((table) => before[table]?.length === 0);
  expect(empty).toEqual(["allowed", "preview", "preview_length", "spend_raises", "system_events"]);

  await openOnce(path);
  const after = inFile(path, rowsOf);
  const { allowed: _unused, kept, ...rest } = before;
  for (const [table, rows] of Object.entries(rest)) {
    const isPlaced = (row: Row) => table === "cron_jobs" || (table === "inbox" && row["state"] !== "done");
    const placed = (text: unknown) => String(text).replaceAll(EARLIER.stateDir, "<openclaw-state-dir>");
    const column = table === "inbox" ? "message" : "job";
    const expected = rows.map((row) => (isPlaced(row) ? { ...row, [column]: placed(row[column]) } : row));
    expect(after[table], table).toMatchObject(expected);
  }
  expect(after["kept"]).toEqual(expect.arrayContaining([...(kept ?? [])]));
  expect(JSON.stringify(after["cron_jobs"])).toContain("<openclaw-state-dir>/workspace/garden");

  const fresh = join(await place(), "journal.sqlite");
  await openOnce(fresh);
  expect(inFile(path, schemaOf)).toEqual(inFile(fresh, schemaOf));
  expect(inFile(path, (db) => db.prepare("PRAGMA user_version").get())).toEqual({ user_version: SCHEMA_VERSION });
});

test("a journal of version 18 is read before and while it is brought to the present version", async () => {
  const dir = await earlierState();
  const path = journalIn(dir);
  expect((await readSessionTable(path)).length).toBe(7);
  expect((await readCronJobs(path)).length).toBe(3);
  const [check] = checks({ stateDir: dir, journal: path, sessions: join(dir, "sessions") });
  const found = await check?.run(AbortSignal.timeout(10_000));
  expect(found).toMatchObject([{ status: "ok", message: expect.stringContaining("migrates it at its start") }]);
  expect(inFile(path, (db) => db.prepare("PRAGMA user_version").get())).toEqual({ user_version: 18 });

  const reader = await openJournalToRead(path);
  onTestFinished(() => reader.close());
  expect(await reader.messages.inboxRows(99)).toHaveLength(31);
  expect(await reader.runs.recent(99)).toHaveLength(22);
});
