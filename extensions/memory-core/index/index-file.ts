import { mkdirSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { createHash } from "node:crypto";
import { chunksOf, type Chunk } from "../chunks.ts";
import {
  begin,
  completeGeneration,
  countOf,
  generationOf,
  generationToFill,
  inOne,
  openIndex,
  revisionOf,
} from "./generations.ts";
import { noteFiles, readNoteText, type NoteFile } from "../notes.ts";
import type { IndexState, MemoryPlace } from "../job.ts";
import { SESSIONS } from "../session-paths.ts";
import { readSession, sessionFiles, type SearchedConversations, type SessionText } from "../sessions.ts";
import { makeVectorTables } from "./vector-sets.ts";

interface SyncAsk {
  readonly rebuild?: boolean;
  readonly except?: string | undefined;
}

/**
 * The index of one agent's notes. It is derived: whatever is wrong with the file, it is deleted and made again. A new
 * generation is built beside the searched one, and takes its place in one transaction.
 */
export class IndexFile {
  #place: MemoryPlace;
  /** Unset where conversations are not searched. */
  #conversations: SearchedConversations | undefined;
  #db: DatabaseSync;
  #degraded: string | undefined;
  #pending = 0;
  /** Notes that the last comparison left out, each with the reason. */
  #leftOut: readonly string[] = [];
  /** How often the file was opened. */
  #openings = 0;
  /** When a comparison last found everything in the index, epoch milliseconds. */
  #completeAt = 0;
  #counted: { readonly revision: string; readonly counts: Counts } | undefined;

  /** Makes the file when there is none. */
  constructor(place: MemoryPlace) {
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
    this.#openings += 1;
    return opened(this.#place.db);
  }

  /** The settings and the conversations of the agent may have changed since the last job. */
  at(place: MemoryPlace, conversations: SearchedConversations | undefined): void {
    this.#place = place;
    this.#conversations = conversations;
  }

  /** Whether the index was never complete so far. */
  get isNew(): boolean {
    return this.with((db) => generationOf(db, "current")?.syncedAt === null);
  }

  /** The generation that is searched. */
  current(): number {
    return this.with((db) => generationOf(db, "current")?.id ?? begin(db, "current"));
  }

  /** Changes with everything that is written into the file, by this process or another one. */
  revision(): string {
    return this.with((db) => `${this.#openings} ${revisionOf(db)}`);
  }

  /**
   * Works on the index for about `ms` milliseconds: adds files that changed, and removes files that are gone. `rebuild`
   * begins a new generation. The conversation at the path `except` stays as it is in the index. Returns the state with
   * the rest of the work.
   */
  sync(ms: number, { rebuild = false, except }: SyncAsk = {}): IndexState {
    this.with((db) => {
      if (rebuild) inOne(db, () => begin(db, "building"));
      this.#takeIn(db, performance.now() + ms, except);
    });
    return this.state();
  }

  /** Compares the notes with the index, and changes neither. */
  look(): IndexState {
    this.with((db) => {
      const id = generationToFill(db);
      const { changed, gone, leftOut } = this.#compare(db, id);
      this.#pending = changed.length;
      this.#leftOut = leftOut;
      if (changed.length + gone.length === 0 && isComplete(db, id)) this.#completeAt = Date.now();
    });
    return this.state();
  }

  #takeIn(db: DatabaseSync, until: number, except: string | undefined): void {
    const id = generationToFill(db);
    const { changed, gone, leftOut } = this.#compare(db, id, except);
    this.#pending = changed.length;
    this.#leftOut = leftOut;
    if (changed.length + gone.length > 0) {
      inOne(db, () => {
        for (const path of gone) dropFile(db, id, path);
        for (const file of changed) {
          takeFile(db, id, { file, read: this.#read(file.path) });
          this.#pending -= 1;
          if (performance.now() > until) break;
        }
      });
    }
    if (this.#pending > 0) return;
    this.#degraded = undefined;
    this.#completeAt = Date.now();
    if (changed.length + gone.length > 0 || !isComplete(db, id)) inOne(db, () => completeGeneration(db, id));
  }

  /**
   * The notes that a generation does not have in their present state, the paths of removed notes, and the notes that are
   * not read.
   */
  #compare(db: DatabaseSync, id: number, except?: string) {
    const rows = db.prepare(`SELECT path, version FROM files_${id}`).all();
    const known = new Map(rows.map((row) => [String(row["path"]), String(row["version"])]));
    const { hasNotes = true, ...places } = this.#place;
    const conversations = this.#conversations ? sessionFiles(this.#conversations) : [];
    const all = [...(hasNotes ? noteFiles(places) : []), ...conversations];
    const files = all.filter(({ leftOut }) => leftOut === undefined);
    const names = new Set(files.map(({ path }) => path));
    return {
      changed: files.filter(({ path, version }) => path !== except && known.get(path) !== version),
      gone: [...known.keys()].filter((path) => !names.has(path)),
      leftOut: all.flatMap(({ path, leftOut }) => (leftOut === undefined ? [] : `${path} (${leftOut})`)),
    };
  }

  #read(path: string): Taken["read"] {
    try {
      if (path.startsWith(SESSIONS)) return this.#conversations && readSession(this.#conversations, path);
      const text = readNoteText(this.#place, path);
      return text === undefined ? undefined : { chunks: chunksOf(text), isUntrusted: false };
    } catch (error) {
      // A file that is not for this process must not keep the others from being found.
      if (error instanceof Error && "code" in error) return UNREADABLE;
      throw error;
    }
  }

  /** Damage and a first build are named until everything is in the index, notes that cannot be read for as long as that is so. */
  state(): IndexState {
    return this.with((db) => {
      const current = generationOf(db, "current") ?? { id: begin(db, "current"), syncedAt: null };
      const { files, conversations, chunks, unreadable } = this.#counts(db, current.id);
      const reasons = [
        this.#degraded ??
          (current.syncedAt === null
            ? "the index is not complete yet; searches and `openclaw memory index` complete it"
            : undefined),
        leftOutText([...this.#leftOut, ...unreadable]),
      ].filter((reason) => reason !== undefined);
      return {
        files,
        conversations,
        chunks,
        pending: this.#pending,
        syncedAt: current.syncedAt === null ? null : Math.max(current.syncedAt, this.#completeAt),
        ...(reasons.length > 0 && { degraded: reasons.join("; ") }),
      };
    });
  }

  #counts(db: DatabaseSync, id: number): Counts {
    const revision = `${this.#openings} ${revisionOf(db)}`;
    if (this.#counted?.revision !== revision) this.#counted = { revision, counts: countsOf(db, id) };
    return this.#counted.counts;
  }

  close(): void {
    if (this.#db.isOpen) this.#db.close();
  }
}

/** The generation is searched and has been complete. */
function isComplete(db: DatabaseSync, id: number): boolean {
  const current = generationOf(db, "current");
  return current?.id === id && current.syncedAt !== null;
}

interface Counts {
  /** Notes and conversations. */
  readonly files: number;
  readonly conversations: number;
  readonly chunks: number;
  /** Notes whose text could not be read for the index. */
  readonly unreadable: readonly string[];
}

function countsOf(db: DatabaseSync, id: number): Counts {
  const unreadable = db.prepare(`SELECT path FROM files_${id} WHERE origin = ?`).all(UNREADABLE);
  const conversations = db.prepare(`SELECT count(*) FROM files_${id} WHERE path GLOB ? AND origin IS NOT ?`);
  return {
    files: countOf(db, `files_${id}`) - unreadable.length,
    conversations: Number(conversations.get(`${SESSIONS}*`, UNREADABLE)?.["count(*)"]),
    chunks: countOf(db, `chunks_${id}`),
    unreadable: unreadable.map((row) => `${String(row["path"])} (not readable)`),
  };
}

/** The origin of a file whose text could not be read. It is tried again when the file has changed. */
const UNREADABLE = "unreadable";

const leftOutText = (notes: readonly string[]): string | undefined =>
  notes.length === 0
    ? undefined
    : `${notes.length} notes are left out: ${notes.slice(0, 3).join(", ")}${notes.length > 3 ? ", …" : ""}`;

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

function dropFile(db: DatabaseSync, id: number, path: string): void {
  for (const table of ["stems", "parts"]) {
    db.prepare(`DELETE FROM ${table}_${id} WHERE rowid IN (SELECT id FROM chunks_${id} WHERE path = ?)`).run(path);
  }
  db.prepare(`DELETE FROM chunks_${id} WHERE path = ?`).run(path);
  db.prepare(`DELETE FROM files_${id} WHERE path = ?`).run(path);
}

interface Taken {
  readonly file: NoteFile;
  /** Content of the file; unset when the file has gone in the meantime. */
  readonly read: SessionText | typeof UNREADABLE | undefined;
}

/** Writes the new parts of a file and removes the old ones. A conversation that grows changes few of its parts. */
function takeFile(db: DatabaseSync, id: number, { file, read }: Taken): void {
  if (!read || read === UNREADABLE) dropFile(db, id, file.path);
  if (!read) return;
  const row = db.prepare(`INSERT OR REPLACE INTO files_${id} (path, version, origin) VALUES (?, ?, ?)`);
  if (read === UNREADABLE) return void row.run(file.path, file.version, UNREADABLE);
  const parts = read.chunks.map((chunk) => ({ ...chunk, hash: hashOf([file.path, chunk.heading, chunk.text]) }));
  const wanted = new Map(parts.map((part) => [nameOf(part), part]));
  const known = db.prepare(`SELECT id, startLine, endLine, hash FROM chunks_${id} WHERE path = ?`).all(file.path);
  const gone = known.filter((part) => !wanted.delete(nameOf(part)));
  for (const part of gone) dropChunk(db, id, Number(part["id"]));
  addChunks(db, id, { path: file.path, parts: [...wanted.values()] });
  row.run(file.path, file.version, read.isUntrusted ? "untrusted" : null);
}

/** The same for two parts of a file only if they have the same place and text. */
const nameOf = ({ startLine, endLine, hash }: Readonly<Record<string, unknown>>): string =>
  [startLine, endLine, hash].join(" ");

function dropChunk(db: DatabaseSync, id: number, chunk: number): void {
  for (const table of ["stems", "parts"]) db.prepare(`DELETE FROM ${table}_${id} WHERE rowid = ?`).run(chunk);
  db.prepare(`DELETE FROM chunks_${id} WHERE id = ?`).run(chunk);
}

interface Added {
  readonly path: string;
  readonly parts: readonly (Chunk & { readonly hash: string })[];
}

function addChunks(db: DatabaseSync, id: number, { path, parts }: Added): void {
  const chunk = db.prepare(
    `INSERT INTO chunks_${id} (path, startLine, endLine, heading, text, hash) VALUES (?, ?, ?, ?, ?, ?)`,
  );
  const stems = db.prepare(`INSERT INTO stems_${id} (rowid, heading, path, text) VALUES (?, ?, ?, ?)`);
  const words = db.prepare(`INSERT INTO parts_${id} (rowid, text) VALUES (?, ?)`);
  for (const { heading, startLine, endLine, text, hash } of parts) {
    const { lastInsertRowid } = chunk.run(path, startLine, endLine, heading, text, hash);
    stems.run(lastInsertRowid, heading, path, text);
    words.run(lastInsertRowid, `${heading}\n${text}`);
  }
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
