import { DatabaseSync } from "node:sqlite";
import { OpenClawError } from "../../types/errors.ts";
import { count } from "./columns.ts";
import { MIGRATIONS, SCHEMA_VERSION } from "./schema.ts";
import { brokenJournal, isBroken, sqliteError } from "./sqlite.ts";

/**
 * Opens the journal's file and brings its schema up to date; each commit is synced before it returns. Throws `OpenClawError`
 * JOURNAL_NEWER, JOURNAL_BROKEN or a disk's.
 */
export function openDatabase(path: string): DatabaseSync {
  let db: DatabaseSync | undefined;
  try {
    db = new DatabaseSync(path, { timeout: 2000 });
    refuseNewer(db, path);
    db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY");
    migrate(db);
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

function refuseNewer(db: DatabaseSync, path: string): void {
  const version = readVersion(db);
  if (version <= SCHEMA_VERSION) return;
  throw new OpenClawError("JOURNAL_NEWER", {
    message: `The journal ${path} has schema ${version}; this openclaw knows ${SCHEMA_VERSION}.`,
    fix: "Update openclaw, or point OPENCLAW_STATE_DIR at a directory that this version wrote.",
  });
}

/** Read again under the write lock, because the command line may open a new journal at the same moment. */
function migrate(db: DatabaseSync): void {
  if (readVersion(db) === SCHEMA_VERSION) return;
  db.exec("BEGIN IMMEDIATE");
  for (const sql of MIGRATIONS.slice(readVersion(db))) db.exec(sql);
  db.exec(`PRAGMA user_version = ${SCHEMA_VERSION}; COMMIT`);
}
