import type { DatabaseSync } from "node:sqlite";
import { bitsOf, type VectorSet } from "./vector-sets.ts";

/** Vectors whose signs fit best, which are then compared number by number, for each result that is wanted. */
const POOL = 20;
const LEAST_POOL = 400;
/** Likeness of a removed vector: above every real one, so that the removal is noticed. */
const GONE = 2;

export interface Near {
  readonly hash: string;
  /** The cosine, from -1 to 1. */
  readonly likeness: number;
}

/**
 * Finds the vectors nearest to another one. The signs of all vectors are kept, one bit for a number: they choose the vectors that
 * are compared exactly.
 */
export class Nearest {
  #set = 0;
  #lastId = 0;
  #count = 0;
  #words = 0;
  #ids = new Float64Array(0);
  #bits = new Uint32Array(0);

  /** The nearest first. `query` has the length 1. */
  find(db: DatabaseSync, set: VectorSet, asked: { query: Float32Array; most: number }): readonly Near[] {
    const found = this.#nearest(db, set, asked);
    if (!found.some((near) => near === undefined)) return found.flatMap((near) => near ?? []);
    // Vectors that are gone would keep others from being compared.
    this.#forget();
    return this.#nearest(db, set, asked).flatMap((near) => near ?? []);
  }

  /** Undefined in place of a vector that is gone. */
  #nearest(
    db: DatabaseSync,
    set: VectorSet,
    { query, most }: { query: Float32Array; most: number },
  ): readonly (Near | undefined)[] {
    this.#load(db, set, query.length);
    const row = db.prepare(`SELECT hash, vector FROM vectors_${set.id} WHERE id = ?`);
    return this.#alike(query, Math.max(LEAST_POOL, most * POOL))
      .map((id) => {
        const found = row.get(id);
        const vector = found?.["vector"];
        if (!found || !(vector instanceof Uint8Array) || vector.length !== query.length) return undefined;
        return { hash: String(found["hash"]), likeness: likenessOf(query, vector) };
      })
      .toSorted((a, b) => (b?.likeness ?? GONE) - (a?.likeness ?? GONE))
      .slice(0, most);
  }

  /** Loads the signs of new vectors. Vectors are only added or removed, so new ones have larger ids. */
  #load(db: DatabaseSync, set: VectorSet, dimensions: number): void {
    const words = Math.ceil(dimensions / 32);
    if (this.#set !== set.id || this.#words !== words) {
      [this.#set, this.#words] = [set.id, words];
      this.#forget();
    }
    const rows = db.prepare(`SELECT id, bits FROM vectors_${set.id} WHERE id > ? ORDER BY id`).iterate(this.#lastId);
    for (const row of rows) {
      const bits = row["bits"];
      this.#lastId = Number(row["id"]);
      if (bits instanceof Uint8Array && bits.length === words * 4) this.#add(this.#lastId, bits);
    }
  }

  #forget(): void {
    [this.#lastId, this.#count] = [0, 0];
    [this.#ids, this.#bits] = [new Float64Array(0), new Uint32Array(0)];
  }

  #add(id: number, bits: Uint8Array): void {
    if (this.#count === this.#ids.length) {
      const size = Math.max(1024, Math.ceil(this.#count * 1.5));
      this.#ids = grown(this.#ids, new Float64Array(size));
      this.#bits = grown(this.#bits, new Uint32Array(size * this.#words));
    }
    this.#ids[this.#count] = id;
    new Uint8Array(this.#bits.buffer).set(bits, this.#count * this.#words * 4);
    this.#count += 1;
  }

  /** Ids of the vectors that differ from the query in the fewest signs. */
  #alike(query: Float32Array, most: number): readonly number[] {
    const distances = this.#distances(new Uint32Array(bitsOf(query).buffer));
    const counts = new Uint32Array(this.#words * 32 + 1);
    for (const distance of distances) counts[distance] = (counts[distance] ?? 0) + 1;
    let limit = 0;
    for (let taken = 0; limit < counts.length && taken < most; limit += 1) taken += counts[limit] ?? 0;
    const chosen: number[] = [];
    for (const [at, distance] of distances.entries()) if (distance < limit) chosen.push(this.#ids[at] ?? 0);
    return chosen;
  }

  #distances(query: Uint32Array): Uint16Array {
    const [words, bits] = [this.#words, this.#bits];
    const distances = new Uint16Array(this.#count);
    for (let at = 0, from = 0; at < this.#count; at += 1, from += words) {
      let distance = 0;
      for (let word = 0; word < words; word += 1) distance += ones((bits[from + word] ?? 0) ^ (query[word] ?? 0));
      distances[at] = distance;
    }
    return distances;
  }
}

function grown<T extends Float64Array | Uint32Array>(old: T, larger: T): T {
  larger.set(old.subarray(0, Math.min(old.length, larger.length)));
  return larger;
}

/** How many bits are 1. */
function ones(word: number): number {
  let sums = word - ((word >>> 1) & 0x55555555);
  sums = (sums & 0x33333333) + ((sums >>> 2) & 0x33333333);
  return Math.imul((sums + (sums >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}

function likenessOf(query: Float32Array, bytes: Uint8Array): number {
  const vector = new Int8Array(bytes.buffer, bytes.byteOffset, bytes.length);
  let [product, square] = [0, 0];
  for (let at = 0; at < vector.length; at += 1) {
    const value = vector[at] ?? 0;
    product += value * (query[at] ?? 0);
    square += value * value;
  }
  return square === 0 ? 0 : product / Math.sqrt(square);
}
