import { DatabaseSync } from "node:sqlite";
import { count } from "../database/columns.ts";
import { realPathsOf, OwnPath, placesOfFiles, stateDirOf } from "../own-path.ts";
import { PATHS_VERSION, SCHEMA_VERSION } from "../database/schema.ts";
import { brokenJournal, isBroken, sqliteError } from "../database/sqlite.ts";
import { migrationsOf, NOTE_OPENS_FROM, useOf } from "../database/version.ts";

/**
 * Opens the journal's file and brings its schema up to date; each commit is synced before it returns. Throws `OpenClawError`
 * JOURNAL_NEWER, JOURNAL_OLDER, JOURNAL_BROKEN or a disk's.
 */
export function openDatabase(path: string): DatabaseSync {
  let db: DatabaseSync | undefined;
  try {
    db = new DatabaseSync(path, { timeout: 2000 });
    migrationsOf(db, path);
    db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY");
    migrate(db, path);
    return db;
  } catch (error) {
    db?.close();
    throw isBroken(error) ? brokenJournal(path, error) : sqliteError(error, path);
  }
}

/** Reads the version again under the write lock, because another process may open the journal at the same moment. */
function migrate(db: DatabaseSync, path: string): void {
  if (useOf(db) === "work") return;
  db.exec("BEGIN IMMEDIATE");
  const steps = migrationsOf(db, path);
  if (steps.length === 0) return db.exec("COMMIT");
  for (const { sql } of steps) db.exec(sql);
  if (steps[0]?.from === PATHS_VERSION) nameOwnPaths(db, path);
  db.exec(`${NOTE_OPENS_FROM}; PRAGMA user_version = ${SCHEMA_VERSION}; COMMIT`);
}

/** Rows that the gateway works with again, and their columns that may name files. */
const WORKED_WITH = [
  { table: "cron_jobs", column: "job", where: "TRUE" },
  { table: "inbox", column: "message", where: "state <> 'done'" },
] as const;

/**
 * Replaces the path of the state directory in rows, where version 18 kept it: the present path, or that of a
 * directory from which this one was copied or moved. Rows that are only a record of the past stay as they are.
 */
function nameOwnPaths(db: DatabaseSync, path: string): void {
  const dir = stateDirOf(path);
  if (dir === undefined) return;
  const files = db.prepare("SELECT row ->> 'sessionFile' AS file FROM sessions WHERE row IS NOT NULL").all();
  const earlier = placesOfFiles(
    files.flatMap(({ file }) => (typeof file === "string" ? [file] : [])),
    dir,
  );
  const own = new OwnPath(dir, [...realPathsOf(dir), ...earlier]);
  for (const { table, column, where } of WORKED_WITH) {
    const update = db.prepare(`UPDATE ${table} SET ${column} = ? WHERE rowid = ?`);
    for (const row of db.prepare(`SELECT rowid AS id, ${column} AS text FROM ${table} WHERE ${where}`).all()) {
      const [id, text] = [count(row, "id"), String(row["text"])];
      const kept = own.kept(text);
      if (kept !== text) update.run(kept, id);
    }
  }
}
