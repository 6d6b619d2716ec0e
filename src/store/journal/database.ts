import { DatabaseSync } from "node:sqlite";
import { OpenClawError } from "../../types/errors.ts";
import { count } from "../database/columns.ts";
import { realPathsOf, OwnPath, placesOfFiles, stateDirOf } from "../own-path.ts";
import { PATHS_VERSION, SCHEMA_VERSION, stepsFrom } from "../database/schema.ts";
import { brokenJournal, isBroken, sqliteError } from "../database/sqlite.ts";

/**
 * Opens the journal's file and brings its schema up to date; each commit is synced before it returns. Throws `OpenClawError`
 * JOURNAL_NEWER, JOURNAL_OLDER, JOURNAL_BROKEN or a disk's.
 */
export function openDatabase(path: string): DatabaseSync {
  let db: DatabaseSync | undefined;
  try {
    db = new DatabaseSync(path, { timeout: 2000 });
    stepsOf(db, path);
    db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY");
    migrate(db, path);
    return db;
  } catch (error) {
    db?.close();
    throw isBroken(error) ? brokenJournal(path, error) : sqliteError(error, path);
  }
}

/** The schema version of a journal. Throws SQLite's errors. */
export function readVersion(db: DatabaseSync): number {
  return count(db.prepare("PRAGMA user_version").get(), "user_version");
}

/** Whether a journal on disk has the tables of a version that can be opened. Throws SQLite's errors. */
export function hasTables(db: DatabaseSync): boolean {
  const version = readVersion(db);
  return version > 0 && stepsFrom(version) !== undefined;
}

/** The reason why a journal of this version cannot be opened; undefined when it can. Pure. */
export function refusalOf(version: number, path: string): OpenClawError | undefined {
  if (version > SCHEMA_VERSION)
    return new OpenClawError("JOURNAL_NEWER", {
      message: `The journal ${path} has schema ${version}; this openclaw knows ${SCHEMA_VERSION}.`,
      fix: "Update openclaw, or point OPENCLAW_STATE_DIR at a directory that this version wrote.",
    });
  if (stepsFrom(version)) return undefined;
  return new OpenClawError("JOURNAL_OLDER", {
    message: `The journal ${path} has schema ${version}, of a development version that this openclaw cannot read.`,
    fix:
      "Start a development version that still reads it once (docs/reference/errors.md says which), or point " +
      "OPENCLAW_STATE_DIR at a new directory.",
  });
}

/** The steps that bring the journal to the present version. Throws `refusalOf` or SQLite's errors. */
function stepsOf(db: DatabaseSync, path: string) {
  const version = readVersion(db);
  const refused = refusalOf(version, path);
  if (refused) throw refused;
  return stepsFrom(version) ?? [];
}

/** Reads the version again under the write lock, because another process may open the journal at the same moment. */
function migrate(db: DatabaseSync, path: string): void {
  if (readVersion(db) === SCHEMA_VERSION) return;
  db.exec("BEGIN IMMEDIATE");
  const steps = stepsOf(db, path);
  for (const { sql } of steps) db.exec(sql);
  if (steps[0]?.from === PATHS_VERSION) nameOwnPaths(db, path);
  db.exec(`PRAGMA user_version = ${SCHEMA_VERSION}; COMMIT`);
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
