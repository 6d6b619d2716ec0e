import type { DatabaseSync } from "node:sqlite";
import type { Hit } from "./job.ts";
import { CURATED } from "./notes.ts";

/** The constant of reciprocal rank fusion. */
const K = 60;
/** Hits of each index that are fused, for each result that is wanted. */
const POOL = 4;
/** Chunks with a word from which on it is common, and below which it is rare. */
const COMMON = 1000;
const RARE = 20;
const SNIPPET_CHARS = 700;
/** Words of a question that say nothing of its subject. */
const STOP_WORDS = new Set(
  (
    "a an and any are as at be been but by can could did do does for from get had has have he her his how i if in is it its me " +
    "my of on or our she should so some that the their them they this to us was we were what when where which who whom whose " +
    "why will with would you your about there"
  ).split(" "),
);
const CJK = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}]/u;

/** Both indexes; the words of the heading and the path count more. The second finds parts of words and scripts without spaces. */
const INDEXES = [
  { table: "stems", rank: "bm25(stems_#, 3.0, 2.0, 1.0)", weight: 1 },
  { table: "parts", rank: "bm25(parts_#)", weight: 0.5 },
] as const;
const MOST_SCORE = INDEXES.reduce((sum, { weight }) => sum + weight / (K + 1), 0);

export interface Question {
  readonly query: string;
  readonly maxResults: number;
  readonly isPrivate: boolean;
}

/** The best chunks of a generation, best first. */
export function searchIndex(db: DatabaseSync, generation: number, asked: Question): readonly Hit[] {
  const texts = textsFor(db, generation, wordsOf(asked.query));
  const scores = new Map<number, number>();
  for (const { table, rank, weight } of INDEXES) {
    const match = anyOf(texts[table]);
    if (match === "") continue;
    const found = db
      .prepare(
        `SELECT rowid AS id FROM ${table}_${generation} WHERE ${table}_${generation} MATCH ?
         ORDER BY ${rank.replace("#", String(generation))} LIMIT ?`,
      )
      .all(match, asked.maxResults * POOL + 20);
    for (const [index, row] of found.entries()) {
      const id = Number(row["id"]);
      scores.set(id, (scores.get(id) ?? 0) + weight / (K + index + 1));
    }
  }
  const chunk = db.prepare(`SELECT path, startLine, endLine, text FROM chunks_${generation} WHERE id = ?`);
  return [...scores]
    .toSorted(([a, x], [b, y]) => y - x || a - b)
    .flatMap(([id, score]) => {
      const row = chunk.get(id);
      return row ? [hitOf(row, score / MOST_SCORE)] : [];
    })
    .filter(({ path }) => asked.isPrivate || path !== CURATED)
    .slice(0, asked.maxResults);
}

/**
 * What each index is asked for. A word that very many chunks have tells little and costs most, so it counts only when all are
 * like that; parts are looked for where the word itself is rare.
 */
function textsFor(db: DatabaseSync, generation: number, words: readonly string[]) {
  const counted = words.map((word) => ({ word, count: countUpTo(db, { generation, word, most: COMMON }) }));
  const telling = counted.filter(({ count }) => count < COMMON);
  const asked = telling.length > 0 ? telling : counted.slice(0, 3);
  const rare = telling.filter(({ count }) => count < RARE);
  return { stems: asked.map(({ word }) => word), parts: rare.flatMap(({ word }) => partsOf(word)) };
}

interface Counting {
  readonly generation: number;
  readonly word: string;
  readonly most: number;
}

function countUpTo(db: DatabaseSync, { generation, word, most }: Counting): number {
  const table = `stems_${generation}`;
  const found = db
    .prepare(`SELECT count(*) AS n FROM (SELECT 1 FROM ${table} WHERE ${table} MATCH ? LIMIT ?)`)
    .get(`"${word}"`, most);
  return Number(found?.["n"]);
}

function hitOf(row: Readonly<Record<string, unknown>>, score: number): Hit {
  return {
    path: String(row["path"]),
    startLine: Number(row["startLine"]),
    endLine: Number(row["endLine"]),
    score: Math.round(score * 1000) / 1000,
    snippet: String(row["text"]).slice(0, SNIPPET_CHARS),
  };
}

/** At most 32 different words; those of a question's grammar only when there are no others. */
function wordsOf(query: string): readonly string[] {
  const all = [...new Set(query.toLowerCase().match(/[\p{L}\p{N}\p{M}]+/gu))];
  const telling = all.filter((word) => !STOP_WORDS.has(word));
  return (telling.length > 0 ? telling : all).slice(0, 32);
}

/** The texts that the index of parts can find: three characters at least, and each three of a script without spaces. */
function partsOf(word: string): readonly string[] {
  const characters = Array.from(word);
  if (characters.length < 3) return [];
  if (!CJK.test(word)) return [word];
  return characters.slice(2).map((_last, index) => characters.slice(index, index + 3).join(""));
}

const anyOf = (words: readonly string[]): string => words.map((word) => `"${word}"`).join(" OR ");
