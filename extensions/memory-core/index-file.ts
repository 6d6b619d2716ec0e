import { mkdirSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { CHUNKING, chunksOf } from "./chunks.ts";
import { noteFiles, readNote, type NoteFile } from "./notes.ts";
import type { IndexState, Place } from "./job.ts";

/** How an index is made. A generation that was made in another way is replaced. */
const IDENTITY = `1; ${CHUNKING}; porter unicode61, trigram`;

interface Generation {
  readonly id: number;
  readonly syncedAt: number | null;
}

/**
 * The index of one agent's notes. It is derived: whatever is wrong with the file, it is deleted and made again. A new generation
 * is built beside the one that is searched, and takes its place in one transaction.
 */
export class IndexFile {
  readonly #place: Place;
  #db: DatabaseSync;
  #degraded: string | undefined;
  #pending = 0;

  /** Makes the file when there is none. */
  constructor(place: Place) {
    this.#place = place;
    mkdirSync(dirname(place.db), { recursive: true, mode: 0o700 });
    try {
      this.#db = open(place.db);
    } catch (error) {
      this.#db = this.#renewed(error);
    }
  }

  /**
   * Runs `use`; when the file turns out to be damaged, runs it again with a new one. A table may also be gone because another
   * process has swapped generations: then it is run again with the same file first.
   */
  with<T>(use: (db: DatabaseSync) => T): T {
    try {
      return twice(() => use(this.#db));
    } catch (error) {
      if (!isDamage(error)) throw error;
      this.close();
      this.#db = this.#renewed(error);
      return use(this.#db);
    }
  }

  #renewed(error: unknown): DatabaseSync {
    if (!isDamage(error)) throw error;
    for (const end of ["", "-wal", "-shm"]) rmSync(`${this.#place.db}${end}`, { force: true });
    this.#degraded = "the index was damaged and is made again";
    return open(this.#place.db);
  }

  /** The generation that is searched. */
  current(): number {
    return this.with((db) => generationOf(db, "current")?.id ?? begin(db, "current"));
  }

  /**
   * Works on the index for about `ms` milliseconds: takes in files that changed, and drops those that are gone. `rebuild` begins
   * a new generation. Gives what is left.
   */
  sync(ms: number, rebuild = false): IndexState {
    this.with((db) => {
      if (rebuild) inOne(db, () => begin(db, "building"));
      this.#takeIn(db, performance.now() + ms);
    });
    return this.state();
  }

  /** Compares the notes with the index, and changes neither. */
  look(): IndexState {
    this.with((db) => {
      this.#pending = compare(db, generationToFill(db), this.#place.workspace).changed.length;
    });
    return this.state();
  }

  #takeIn(db: DatabaseSync, until: number): void {
    const id = generationToFill(db);
    const { changed, gone } = compare(db, id, this.#place.workspace);
    this.#pending = changed.length;
    if (changed.length + gone.length > 0) {
      inOne(db, () => {
        for (const path of gone) dropFile(db, id, path);
        for (const file of changed) {
          takeFile(db, id, { file, text: readNote(this.#place.workspace, file.path) });
          this.#pending -= 1;
          if (performance.now() > until) break;
        }
      });
    }
    if (this.#pending > 0) return;
    this.#degraded = undefined;
    inOne(db, () => complete(db, id));
  }

  /** Damage and a first build are named until everything is in the index. */
  state(): IndexState {
    return this.with((db) => {
      const current = generationOf(db, "current") ?? { id: begin(db, "current"), syncedAt: null };
      const degraded = this.#degraded ?? (current.syncedAt === null ? "the first index is being made" : undefined);
      return {
        files: countOf(db, `files_${current.id}`),
        chunks: countOf(db, `chunks_${current.id}`),
        pending: this.#pending,
        syncedAt: current.syncedAt,
        ...(degraded !== undefined && { degraded }),
      };
    });
  }

  close(): void {
    if (this.#db.isOpen) this.#db.close();
  }
}

function open(path: string): DatabaseSync {
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

const generationToFill = (db: DatabaseSync): number =>
  (generationOf(db, "building") ?? generationOf(db, "current"))?.id ?? begin(db, "current");

/** The notes that a generation has not as they are now, and the paths of those that are gone. */
function compare(db: DatabaseSync, id: number, workspace: string) {
  const rows = db.prepare(`SELECT path, version FROM files_${id}`).all();
  const known = new Map(rows.map((row) => [String(row["path"]), String(row["version"])]));
  const files = noteFiles(workspace);
  const names = new Set(files.map(({ path }) => path));
  return {
    changed: files.filter(({ path, version }) => known.get(path) !== version),
    gone: [...known.keys()].filter((path) => !names.has(path)),
  };
}

/** A generation under construction is continued when it is made in the present way. */
function renewBuilding(db: DatabaseSync): void {
  const building = generationOf(db, "building");
  if (!building || identityOf(db, building.id) !== IDENTITY) begin(db, "building");
}

function generationOf(db: DatabaseSync, state: "current" | "building"): Generation | undefined {
  const row = db.prepare("SELECT id, syncedAt FROM generations WHERE state = ?").get(state);
  if (!row) return undefined;
  return { id: Number(row["id"]), syncedAt: row["syncedAt"] === null ? null : Number(row["syncedAt"]) };
}

const identityOf = (db: DatabaseSync, id: number): unknown =>
  db.prepare("SELECT identity FROM generations WHERE id = ?").get(id)?.["identity"];

const countOf = (db: DatabaseSync, table: string): number =>
  Number(db.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.["n"]);

/** Makes an empty generation; one of the same state is dropped. */
function begin(db: DatabaseSync, state: "current" | "building"): number {
  const old = generationOf(db, state);
  if (old) drop(db, old.id);
  const { lastInsertRowid } = db
    .prepare("INSERT INTO generations (identity, state) VALUES (?, ?)")
    .run(IDENTITY, state);
  const id = Number(lastInsertRowid);
  const contentless = "content='', contentless_delete=1";
  db.exec(`
    CREATE TABLE files_${id} (path TEXT PRIMARY KEY, version TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE chunks_${id} (id INTEGER PRIMARY KEY, path TEXT NOT NULL, startLine INTEGER NOT NULL,
      endLine INTEGER NOT NULL, text TEXT NOT NULL);
    CREATE INDEX chunks_path_${id} ON chunks_${id} (path);
    CREATE VIRTUAL TABLE stems_${id} USING fts5(heading, path, text, ${contentless},
      tokenize="porter unicode61 remove_diacritics 2");
    CREATE VIRTUAL TABLE parts_${id} USING fts5(text, ${contentless}, tokenize="trigram remove_diacritics 1");`);
  return id;
}

function drop(db: DatabaseSync, id: number): void {
  for (const table of ["files", "chunks", "stems", "parts"]) db.exec(`DROP TABLE IF EXISTS ${table}_${id}`);
  db.prepare("DELETE FROM generations WHERE id = ?").run(id);
}

/** Everything is in the generation: from now on it is the one that is searched. */
function complete(db: DatabaseSync, id: number): void {
  const current = generationOf(db, "current");
  if (current && current.id !== id) drop(db, current.id);
  db.prepare("UPDATE generations SET state = 'current', syncedAt = ? WHERE id = ?").run(Date.now(), id);
}

function dropFile(db: DatabaseSync, id: number, path: string): void {
  for (const table of ["stems", "parts"]) {
    db.prepare(`DELETE FROM ${table}_${id} WHERE rowid IN (SELECT id FROM chunks_${id} WHERE path = ?)`).run(path);
  }
  db.prepare(`DELETE FROM chunks_${id} WHERE path = ?`).run(path);
  db.prepare(`DELETE FROM files_${id} WHERE path = ?`).run(path);
}

interface Read {
  readonly file: NoteFile;
  /** Unset when it has gone in the meantime. */
  readonly text: string | undefined;
}

function takeFile(db: DatabaseSync, id: number, { file, text }: Read): void {
  dropFile(db, id, file.path);
  if (text === undefined) return;
  const chunk = db.prepare(`INSERT INTO chunks_${id} (path, startLine, endLine, text) VALUES (?, ?, ?, ?)`);
  const stems = db.prepare(`INSERT INTO stems_${id} (rowid, heading, path, text) VALUES (?, ?, ?, ?)`);
  const parts = db.prepare(`INSERT INTO parts_${id} (rowid, text) VALUES (?, ?)`);
  for (const { heading, startLine, endLine, text: body } of chunksOf(text)) {
    const { lastInsertRowid } = chunk.run(file.path, startLine, endLine, body);
    stems.run(lastInsertRowid, heading, file.path, body);
    parts.run(lastInsertRowid, `${heading}\n${body}`);
  }
  db.prepare(`INSERT INTO files_${id} (path, version) VALUES (?, ?)`).run(file.path, file.version);
}

function inOne(db: DatabaseSync, change: () => unknown): void {
  db.exec("BEGIN IMMEDIATE");
  try {
    change();
    db.exec("COMMIT");
  } catch (error) {
    if (db.isTransaction) db.exec("ROLLBACK");
    throw error;
  }
}

function twice<T>(use: () => T): T {
  try {
    return use();
  } catch (error) {
    if (!isGone(error)) throw error;
    return use();
  }
}

const isGone = (error: unknown): boolean => error instanceof Error && /no such (?:table|column)/.test(error.message);

/** SQLite's codes for a file that is damaged, or that is no database; a missing table is damage here too. */
function isDamage(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = "errcode" in error ? Number(error.errcode) & 0xff : 0;
  return code === 11 || code === 26 || isGone(error);
}
