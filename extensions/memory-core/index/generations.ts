import { DatabaseSync } from "node:sqlite";
import { CHUNKING } from "../chunks.ts";

/** How an index is made. A generation that was made in another way is replaced. */
const IDENTITY = `3; ${CHUNKING}; porter unicode61, trigram`;

/** All texts of the notes at some time, in tables of their own. */
interface Generation {
  readonly id: number;
  readonly syncedAt: number | null;
}

/** Opens the file of an index, or makes it. Throws SQLite's errors. */
export function openIndex(path: string): DatabaseSync {
  const db = new DatabaseSync(path);
  try {
    db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA busy_timeout = 5000;");
    db.exec(`CREATE TABLE IF NOT EXISTS generations (
      id INTEGER PRIMARY KEY AUTOINCREMENT, identity TEXT NOT NULL, state TEXT NOT NULL UNIQUE, syncedAt INTEGER)`);
    const current = generationOf(db, "current");
    if (!current) inOne(db, () => begin(db, "current"));
    else if (identityOf(db, current.id) !== IDENTITY) inOne(db, () => renewBuilding(db));
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/** The generation that notes are added to: the generation under construction, else the searched one. */
export const generationToFill = (db: DatabaseSync): number =>
  (generationOf(db, "building") ?? generationOf(db, "current"))?.id ?? begin(db, "current");

/** A generation under construction is continued when it is made in the present way. */
function renewBuilding(db: DatabaseSync): void {
  const building = generationOf(db, "building");
  if (!building || identityOf(db, building.id) !== IDENTITY) begin(db, "building");
}

export function generationOf(db: DatabaseSync, state: "current" | "building"): Generation | undefined {
  const row = db.prepare("SELECT id, syncedAt FROM generations WHERE state = ?").get(state);
  if (!row) return undefined;
  return { id: Number(row["id"]), syncedAt: row["syncedAt"] === null ? null : Number(row["syncedAt"]) };
}

const identityOf = (db: DatabaseSync, id: number): unknown =>
  db.prepare("SELECT identity FROM generations WHERE id = ?").get(id)?.["identity"];

export const countOf = (db: DatabaseSync, table: string): number =>
  Number(db.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.["n"]);

/** Changes with every write of this connection, and with every commit of another one. */
export function revisionOf(db: DatabaseSync): string {
  const others = db.prepare("PRAGMA data_version").get()?.["data_version"];
  const own = db.prepare("SELECT total_changes() AS n").get()?.["n"];
  return `${String(others)} ${String(own)}`;
}

/** Makes an empty generation; one of the same state is dropped. */
export function begin(db: DatabaseSync, state: "current" | "building"): number {
  const old = generationOf(db, state);
  if (old) drop(db, old.id);
  const { lastInsertRowid } = db
    .prepare("INSERT INTO generations (identity, state) VALUES (?, ?)")
    .run(IDENTITY, state);
  const id = Number(lastInsertRowid);
  const contentless = "content='', contentless_delete=1";
  db.exec(`
    CREATE TABLE files_${id} (path TEXT PRIMARY KEY, version TEXT NOT NULL, origin TEXT) WITHOUT ROWID;
    CREATE TABLE chunks_${id} (id INTEGER PRIMARY KEY, path TEXT NOT NULL, startLine INTEGER NOT NULL,
      endLine INTEGER NOT NULL, heading TEXT NOT NULL, text TEXT NOT NULL, hash TEXT NOT NULL);
    CREATE INDEX chunks_path_${id} ON chunks_${id} (path);
    CREATE INDEX chunks_hash_${id} ON chunks_${id} (hash);
    CREATE VIRTUAL TABLE stems_${id} USING fts5(heading, path, text, ${contentless},
      tokenize="porter unicode61 remove_diacritics 2");
    CREATE VIRTUAL TABLE parts_${id} USING fts5(text, ${contentless}, tokenize="trigram remove_diacritics 1");`);
  return id;
}

function drop(db: DatabaseSync, id: number): void {
  for (const table of ["files", "chunks", "stems", "parts"]) db.exec(`DROP TABLE IF EXISTS ${table}_${id}`);
  db.prepare("DELETE FROM generations WHERE id = ?").run(id);
}

/** Makes a complete generation the searched one. */
export function completeGeneration(db: DatabaseSync, id: number): void {
  const current = generationOf(db, "current");
  if (current && current.id !== id) drop(db, current.id);
  db.prepare("UPDATE generations SET state = 'current', syncedAt = ? WHERE id = ?").run(Date.now(), id);
}

/** Makes all of the changes, or none. */
export function inOne<T>(db: DatabaseSync, change: () => T): T {
  db.exec("BEGIN IMMEDIATE");
  try {
    const result = change();
    db.exec("COMMIT");
    return result;
  } catch (error) {
    if (db.isTransaction) db.exec("ROLLBACK");
    throw error;
  }
}
