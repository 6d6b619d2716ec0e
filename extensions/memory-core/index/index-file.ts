import { mkdirSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { createHash } from "node:crypto";
import { chunksOf } from "./chunks.ts";
import { begin, complete, countOf, generationOf, generationToFill, inOne, openIndex } from "./generations.ts";
import { noteFiles, readNote, type NoteFile } from "../notes.ts";
import type { IndexState, Place } from "../job.ts";
import { SESSIONS } from "../session-paths.ts";
import { readSession, sessionFiles, type SessionText } from "../sessions.ts";
import { makeVectorTables } from "../vectors/vector-sets.ts";

/**
 * The index of one agent's notes. It is derived: whatever is wrong with the file, it is deleted and made again. A new generation
 * is built beside the one that is searched, and takes its place in one transaction.
 */
export class IndexFile {
  #place: Place;
  #db: DatabaseSync;
  #degraded: string | undefined;
  #pending = 0;

  /** Makes the file when there is none. */
  constructor(place: Place) {
    this.#place = place;
    mkdirSync(dirname(place.db), { recursive: true, mode: 0o700 });
    try {
      this.#db = opened(place.db);
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
    return opened(this.#place.db);
  }

  /** The settings of the agent may have changed since the last job. */
  at(place: Place): this {
    this.#place = place;
    return this;
  }

  /** Never complete so far. */
  get isNew(): boolean {
    return this.with((db) => generationOf(db, "current")?.syncedAt === null);
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
      this.#pending = compare(db, generationToFill(db), this.#place).changed.length;
    });
    return this.state();
  }

  #takeIn(db: DatabaseSync, until: number): void {
    const id = generationToFill(db);
    const { changed, gone } = compare(db, id, this.#place);
    this.#pending = changed.length;
    if (changed.length + gone.length > 0) {
      inOne(db, () => {
        for (const path of gone) dropFile(db, id, path);
        for (const file of changed) {
          takeFile(db, id, { file, read: readText(this.#place, file.path) });
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

function opened(path: string): DatabaseSync {
  const db = openIndex(path);
  try {
    makeVectorTables(db);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/** The notes that a generation has not as they are now, and the paths of those that are gone. */
function compare(db: DatabaseSync, id: number, { workspace, sessions, hasNotes = true }: Place) {
  const rows = db.prepare(`SELECT path, version FROM files_${id}`).all();
  const known = new Map(rows.map((row) => [String(row["path"]), String(row["version"])]));
  const files = [...(hasNotes ? noteFiles(workspace) : []), ...(sessions ? sessionFiles(sessions, known) : [])];
  const names = new Set(files.map(({ path }) => path));
  return {
    changed: files.filter(({ path, version }) => known.get(path) !== version),
    gone: [...known.keys()].filter((path) => !names.has(path)),
  };
}

function dropFile(db: DatabaseSync, id: number, path: string): void {
  for (const table of ["stems", "parts"]) {
    db.prepare(`DELETE FROM ${table}_${id} WHERE rowid IN (SELECT id FROM chunks_${id} WHERE path = ?)`).run(path);
  }
  db.prepare(`DELETE FROM chunks_${id} WHERE path = ?`).run(path);
  db.prepare(`DELETE FROM files_${id} WHERE path = ?`).run(path);
}

interface Taken {
  readonly file: NoteFile;
  /** Unset when it has gone in the meantime. */
  readonly read: SessionText | undefined;
}

function readText({ workspace, sessions }: Place, path: string): SessionText | undefined {
  if (path.startsWith(SESSIONS)) return sessions && readSession(sessions, path);
  const text = readNote(workspace, path);
  return text === undefined ? undefined : { chunks: chunksOf(text), isUntrusted: false };
}

function takeFile(db: DatabaseSync, id: number, { file, read }: Taken): void {
  dropFile(db, id, file.path);
  if (!read) return;
  const chunk = db.prepare(
    `INSERT INTO chunks_${id} (path, startLine, endLine, heading, text, hash) VALUES (?, ?, ?, ?, ?, ?)`,
  );
  const stems = db.prepare(`INSERT INTO stems_${id} (rowid, heading, path, text) VALUES (?, ?, ?, ?)`);
  const parts = db.prepare(`INSERT INTO parts_${id} (rowid, text) VALUES (?, ?)`);
  for (const { heading, startLine, endLine, text: body } of read.chunks) {
    const { lastInsertRowid } = chunk.run(
      file.path,
      startLine,
      endLine,
      heading,
      body,
      hashOf([file.path, heading, body]),
    );
    stems.run(lastInsertRowid, heading, file.path, body);
    parts.run(lastInsertRowid, `${heading}\n${body}`);
  }
  const origin = read.isUntrusted ? "untrusted" : null;
  db.prepare(`INSERT INTO files_${id} (path, version, origin) VALUES (?, ?, ?)`).run(file.path, file.version, origin);
}

const hashOf = (parts: readonly string[]): string =>
  createHash("sha256").update(parts.join("\n")).digest("hex").slice(0, 32);

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
