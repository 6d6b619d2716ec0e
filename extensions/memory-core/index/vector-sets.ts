import type { DatabaseSync } from "node:sqlite";
import { inOne } from "./generations.ts";
import type { VectorSettings } from "../job.ts";

/** The vectors of one model, in a table of their own. Vectors of two models are never compared. */
export interface VectorSet {
  readonly id: number;
  /** Numbers of a vector; unset before the first one. */
  readonly dimensions: number | undefined;
  /** The set has been complete: it is searched. */
  readonly isCurrent: boolean;
}

/** A text that has no vector yet. */
export interface PendingText {
  readonly hash: string;
  readonly text: string;
}

type State = "current" | "building";

/** The names of what made the vectors; a set of another origin is replaced. */
export const identityOf = ({ provider, model, dimensions, documentInputType }: VectorSettings): string =>
  JSON.stringify([provider, model, dimensions ?? null, documentInputType ?? null]);

export function makeVectorTables(db: DatabaseSync): void {
  db.exec(`CREATE TABLE IF NOT EXISTS vectorSets (id INTEGER PRIMARY KEY AUTOINCREMENT, identity TEXT NOT NULL,
    dimensions INTEGER, state TEXT NOT NULL UNIQUE)`);
}

/** The set of these settings that is searched, else the set under construction; undefined when there is neither. */
export const vectorSet = (db: DatabaseSync, settings: VectorSettings): VectorSet | undefined =>
  setOf(db, "current", settings) ?? setOf(db, "building", settings);

/** Begins a new set beside the searched one. */
export function renewVectors(db: DatabaseSync, settings: VectorSettings): void {
  inOne(db, () => beginSet(db, settings));
}

/**
 * The set that vectors are made for: the set under construction, else the searched one. A set of other settings stays
 * until the new one is complete.
 */
export const setToFill = (db: DatabaseSync, settings: VectorSettings): VectorSet =>
  setOf(db, "building", settings) ?? vectorSet(db, settings) ?? inOne(db, () => beginSet(db, settings));

function setOf(db: DatabaseSync, state: State, settings: VectorSettings): VectorSet | undefined {
  const row = db.prepare("SELECT id, identity, dimensions FROM vectorSets WHERE state = ?").get(state);
  if (!row || row["identity"] !== identityOf(settings)) return undefined;
  const dimensions = row["dimensions"] === null ? undefined : Number(row["dimensions"]);
  return { id: Number(row["id"]), dimensions, isCurrent: state === "current" };
}

function beginSet(db: DatabaseSync, settings: VectorSettings): VectorSet {
  dropSet(db, "building");
  const { lastInsertRowid } = db
    .prepare("INSERT INTO vectorSets (identity, state) VALUES (?, 'building')")
    .run(identityOf(settings));
  const id = Number(lastInsertRowid);
  db.exec(`CREATE TABLE vectors_${id} (
    id INTEGER PRIMARY KEY AUTOINCREMENT, hash TEXT NOT NULL UNIQUE, bits BLOB NOT NULL, vector BLOB NOT NULL)`);
  return { id, dimensions: undefined, isCurrent: false };
}

function dropSet(db: DatabaseSync, state: State): void {
  const id = db.prepare("SELECT id FROM vectorSets WHERE state = ?").get(state)?.["id"];
  if (id === undefined) return;
  db.exec(`DROP TABLE IF EXISTS vectors_${Number(id)}`);
  db.prepare("DELETE FROM vectorSets WHERE id = ?").run(id);
}

/** Number of parts of notes that have no vector in the set; all parts without a set. */
export function pendingCount(db: DatabaseSync, generation: number, set: VectorSet | undefined): number {
  const pending = set ? withoutVector(generation, set.id) : `FROM chunks_${generation}`;
  return Number(db.prepare(`SELECT count(DISTINCT hash) AS n ${pending}`).get()?.["n"]);
}

/** How many parts the set that would be filled lacks. Changes nothing. */
export const pendingIn = (db: DatabaseSync, generation: number, settings: VectorSettings): number =>
  pendingCount(db, generation, setOf(db, "building", settings) ?? vectorSet(db, settings));

/** At most `most` texts without a vector in the set. */
export function pendingTexts(
  db: DatabaseSync,
  generation: number,
  { id, most }: VectorSet & { readonly most: number },
) {
  const rows = db
    .prepare(`SELECT hash, path, heading, text ${withoutVector(generation, id)} GROUP BY hash LIMIT ?`)
    .all(most);
  return rows.map((row): PendingText => {
    return {
      hash: String(row["hash"]),
      text: `${String(row["path"])}\n${String(row["heading"])}\n${String(row["text"])}`,
    };
  });
}

const withoutVector = (generation: number, set: number): string =>
  `FROM chunks_${generation} WHERE hash NOT IN (SELECT hash FROM vectors_${set})`;

/** Adds vectors of length 1. Throws when they are not as long as the vectors of the set. */
export function addVectors(
  db: DatabaseSync,
  set: VectorSet,
  vectors: readonly { readonly hash: string; readonly vector: Float32Array }[],
): void {
  inOne(db, () => {
    const insert = db.prepare(`INSERT OR REPLACE INTO vectors_${set.id} (hash, bits, vector) VALUES (?, ?, ?)`);
    for (const { hash, vector } of vectors) insert.run(hash, bitsOf(vector), bytesOf(vector));
    const [first] = vectors;
    if (first) db.prepare("UPDATE vectorSets SET dimensions = ? WHERE id = ?").run(first.vector.length, set.id);
  });
}

/**
 * Completes a set that has all vectors: it takes the place of the searched set, and vectors of removed texts are
 * deleted.
 */
export function completeSet(db: DatabaseSync, generation: number, set: VectorSet): void {
  inOne(db, () => {
    if (!set.isCurrent) {
      dropSet(db, "current");
      db.prepare("UPDATE vectorSets SET state = 'current' WHERE id = ?").run(set.id);
    }
    db.exec(`DELETE FROM vectors_${set.id} WHERE hash NOT IN (SELECT hash FROM chunks_${generation})`);
  });
}

/** The sign of each number, 32 in a word. */
export function bitsOf(vector: Float32Array): Uint8Array {
  const words = new Uint32Array(Math.ceil(vector.length / 32));
  for (const [at, value] of vector.entries()) {
    if (value > 0) words[at >>> 5] = (words[at >>> 5] ?? 0) | (1 << (at & 31));
  }
  return new Uint8Array(words.buffer);
}

/** Each number as one byte, so that the largest is 127. */
function bytesOf(vector: Float32Array): Uint8Array {
  const largest = vector.reduce((most, value) => Math.max(most, Math.abs(value)), 0) || 1;
  return new Uint8Array(Int8Array.from(vector, (value) => Math.round((value / largest) * 127)).buffer);
}
