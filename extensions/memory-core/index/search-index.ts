import type { DatabaseSync } from "node:sqlite";
import type { Hit } from "../job.ts";
import type { Near } from "./nearest.ts";
import { CURATED } from "../notes.ts";
import { SESSIONS } from "../session-paths.ts";

/** The constant of reciprocal rank fusion. */
const K = 60;
/** Hits of each index that are fused, for each result that is wanted. */
const POOL = 4;
/** Chunks with a word from which on it is common, and below which it is rare. */
const COMMON = 1000;
const RARE = 5;
const SNIPPET_CHARS = 700;
/**
 * The lists of hits that are fused. The words of the heading and the path count more. The second list finds parts of
 * words and scripts without spaces, the third finds texts with several words of the question, or with other words for
 * the same things.
 */
const LISTS = [
  { kind: "words", table: "stems", rank: "bm25(stems_#, 3.0, 2.0, 1.0)", weight: 1 },
  { kind: "parts", table: "parts", rank: "bm25(parts_#)", weight: 0.5 },
  { kind: "pairs", table: "stems", rank: "bm25(stems_#, 3.0, 2.0, 1.0)", weight: 1.5 },
] as const;
/** Weight of words of one or two characters, and the most such words that a search looks for. */
const SHORT_WEIGHT = 0.5;
const MOST_SHORT = 24;
const MOST_SCORE = LISTS.reduce((sum, { weight }) => sum + weight / (K + 1), 0);

interface Wanted {
  readonly maxResults: number;
}

interface Found extends Wanted {
  readonly scores: Scores;
  readonly isPrivate: boolean;
  readonly corpus?: "memory" | "sessions" | undefined;
  readonly except?: string | undefined;
}

/** Chunks by their ids, each with a score from 0 to 1. */
export type Scores = ReadonlyMap<number, number>;

/** Scores of chunks by the words of a search in a generation. */
export function scoresByWords(db: DatabaseSync, generation: number, asked: Wanted & { query: string }): Scores {
  const matches = matchesFor(db, generation, wordsOf(asked.query));
  const scores = new Map<number, number>();
  for (const { kind, table, rank, weight } of LISTS) {
    const match = matches[kind];
    if (match === "") continue;
    const found = db
      .prepare(
        `SELECT rowid AS id FROM ${table}_${generation} WHERE ${table}_${generation} MATCH ?
         ORDER BY ${rank.replace("#", String(generation))} LIMIT ?`,
      )
      .all(match, asked.maxResults * POOL + 20);
    for (const [index, row] of found.entries()) {
      const id = Number(row["id"]);
      scores.set(id, (scores.get(id) ?? 0) + (weight / MOST_SCORE) * scoreAt(index));
    }
  }
  for (const [index, id] of withShort(db, generation, matches.short, asked.maxResults * POOL + 20).entries())
    scores.set(id, Math.min(1, (scores.get(id) ?? 0) + (SHORT_WEIGHT / MOST_SCORE) * scoreAt(index)));
  return scores;
}

/**
 * Chunks with words of one or two characters, best first: a word counts by how few chunks have it. Each text is looked at, since no
 * index has such words.
 */
function withShort(db: DatabaseSync, generation: number, words: readonly string[], most: number): readonly number[] {
  if (words.length === 0) return [];
  const chunks = `chunks_${generation}`;
  const has = "(instr(text, ?) > 0)";
  const counts = db.prepare(`SELECT count(*), ${words.map(() => `sum${has}`).join(", ")} FROM ${chunks}`);
  counts.setReturnArrays(true);
  const [all = 0, ...each] = Object.values(counts.get(...words) ?? {}).map(Number);
  const known = words.flatMap((word, at) => (each[at] ? [{ word, weight: Math.log((all + 1) / each[at]) }] : []));
  if (known.length === 0) return [];
  const sum = known.map(() => `? * ${has}`).join(" + ");
  return db
    .prepare(`SELECT id FROM (SELECT id, ${sum} AS n FROM ${chunks}) WHERE n > 0 ORDER BY n DESC, id LIMIT ?`)
    .all(...known.flatMap(({ word, weight }) => [weight, word]), most)
    .map((row) => Number(row["id"]));
}

/**
 * Scores of the nearest texts. A text counts by how much nearer it is than the last one, which is as near as many
 * others.
 */
export function scoresByVectors(db: DatabaseSync, generation: number, near: readonly Near[]): Scores {
  const chunks = db.prepare(`SELECT id FROM chunks_${generation} WHERE hash = ?`);
  const first = near[0]?.likeness ?? 0;
  const last = near.at(-1)?.likeness ?? 0;
  const scores = near.flatMap(({ hash, likeness }) => {
    const score = first > last ? (likeness - last) / (first - last) : 1;
    return chunks.all(hash).map((row) => [Number(row["id"]), score] as const);
  });
  return new Map(scores);
}

/**
 * The scores by words and by vectors together; the best of each counts the same apart from `weight`, which is the
 * weight of the vectors.
 */
export function fused(byWords: Scores, byVectors: Scores, weight: number): Scores {
  const best = Math.max(...byWords.values(), 0) || 1;
  const ids = new Set([...byWords.keys(), ...byVectors.keys()]);
  const scoreOf = (id: number) => (1 - weight) * ((byWords.get(id) ?? 0) / best) + weight * (byVectors.get(id) ?? 0);
  return new Map([...ids].map((id) => [id, scoreOf(id)]));
}

/** A hit with its whole text. */
interface FoundPart {
  readonly path: string;
  readonly text: string;
  readonly hit: Hit;
}

/** The best chunks, best first. */
export function hitsOf(db: DatabaseSync, generation: number, found: Found): readonly FoundPart[] {
  const chunk = db.prepare(`SELECT path, startLine, endLine, text FROM chunks_${generation} WHERE id = ?`);
  return [...found.scores]
    .toSorted(([a, x], [b, y]) => y - x || a - b)
    .flatMap(([id, score]) => {
      const row = chunk.get(id);
      return row ? [{ path: String(row["path"]), text: String(row["text"]), hit: hitOf(row, score) }] : [];
    })
    .filter(({ path }) => isWanted(path, found))
    .slice(0, found.maxResults);
}

function isWanted(path: string, { isPrivate, corpus, except }: Found): boolean {
  const isSession = path.startsWith(SESSIONS);
  if (!isPrivate && (isSession || path === CURATED)) return false;
  return path !== except && (corpus === undefined || isSession === (corpus === "sessions"));
}

/** Whether a conversation has read untrusted content. */
export const isUntrustedFile = (db: DatabaseSync, generation: number, path: string): boolean =>
  db.prepare(`SELECT origin FROM files_${generation} WHERE path = ?`).get(path)?.["origin"] === "untrusted";

/** Reciprocal rank fusion. */
const scoreAt = (index: number): number => 1 / (K + index + 1);

/**
 * Queries for the lists. A word that very many chunks have selects little and costs most, so it counts only when all
 * words are like that; parts are looked for where the word itself is rare.
 */
function matchesFor(db: DatabaseSync, generation: number, words: readonly string[]) {
  const countOf = (word: string) => countUpTo(db, { generation, word, most: COMMON });
  const counted = words.map((word) => ({ word, count: countOf(word) }));
  const telling = counted.filter(({ count }) => count < COMMON);
  const asked = (telling.length > 0 ? telling : counted.slice(0, 3)).map(({ word }) => word);
  const rare = telling.filter(({ count }) => count < RARE);
  return {
    words: anyOf(asked),
    parts: anyOf(rare.flatMap(({ word }) => partsOf(word))),
    short: [...new Set(rare.flatMap(({ word }) => shortWordsOf(word)))].slice(0, MOST_SHORT),
    pairs: twoOf(asked, (word) => countOf(word) < COMMON),
  };
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

/** Words of a question that say nothing of its subject. */
const STOP_WORDS = new Set(
  (
    "a again an and any are as at be been but by can could did do does ever find for from get give gives go goes had has have he her " +
    "his how i if in is it its know many may me might much must my need needs new not now of old on or our please said say says she " +
    "should so some still take takes tell that the their them they this to us want wants was we were what when where which who whom " +
    "whose why will with would you your about there"
  ).split(" "),
);
const MOST_WORDS = 32;
/** Words that are looked for in twos. */
const PAIRED = 8;
const CJK = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}]/u;

/** At most 32 different words; words of a question's grammar only when there are no others. */
function wordsOf(query: string): readonly string[] {
  const all = [...new Set(query.toLowerCase().match(/[\p{L}\p{N}\p{M}]+/gu))];
  const telling = all.filter((word) => !STOP_WORDS.has(word) && !/^[a-z]$/.test(word));
  return (telling.length > 0 ? telling : all).slice(0, MOST_WORDS);
}

/** The texts that the index of parts can find: three characters at least, and each three of a script without spaces. */
function partsOf(word: string): readonly string[] {
  const characters = Array.from(word);
  if (characters.length < 3) return [];
  if (!CJK.test(word)) return [word];
  return characters.slice(2).map((_last, index) => characters.slice(index, index + 3).join(""));
}

/** A character that may be a word of its own. */
const SYLLABLE = /^[\p{Script=Han}\p{Script=Hangul}]$/u;
/** Two characters in a row of these scripts are a word, or a useful part of one. */
const PAIRABLE = /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Hangul}]{2,}/gu;

/**
 * Words of one or two characters in a word of a script without spaces, also in a whole sentence: the index of parts
 * cannot find these.
 */
function shortWordsOf(word: string): readonly string[] {
  if (!CJK.test(word)) return [];
  const { length } = Array.from(word);
  if (length === 1) return SYLLABLE.test(word) ? [word] : [];
  return length === 2 ? [word] : (word.match(PAIRABLE) ?? []).flatMap(pairsOf);
}

function pairsOf(run: string): readonly string[] {
  const characters = Array.from(run);
  return characters.slice(1).map((last, at) => `${characters[at]}${last}`);
}

/** FTS5's expression for texts that have one of the words. */
const anyOf = (words: readonly string[]): string => words.map((word) => `"${word}"`).join(" OR ");

/** The same for texts that have two of the words, or two of the words that people use for the same things. */
function twoOf(words: readonly string[], isUsable: (word: string) => boolean): string {
  const groups = words.slice(0, PAIRED).map((word) => `(${anyOf([word, ...wordsLike(word).filter(isUsable)])})`);
  const pairs = groups.flatMap((group, at) => groups.slice(at + 1).map((other) => `(${group} AND ${other})`));
  return pairs.join(" OR ");
}

/**
 * Everyday English words that people use for the same things. A question rarely has the word of the note, and a search
 * by words knows no meanings.
 */
const GROUPS: readonly string[] = [
  "mother mum mom mama mummy",
  "father dad papa daddy",
  "grandmother granny grandma",
  "grandfather grandpa granddad",
  "child children kid kids son daughter",
  "brother sister sibling",
  "husband wife partner spouse",
  "marry married marries marriage wedding",
  "friend friends",
  "doctor dr physician gp",
  "allergist allergy allergic",
  "dentist tooth teeth",
  "hospital clinic emergency ward",
  "medicine medication drug tablet pill dose prescription takes mg",
  "ill sick illness disease",
  "eat eats avoid allergic food diet",
  "hurt hurts injury injured wound torn accident",
  "buy bought purchase order ordered",
  "sell sold sale",
  "price cost costs euros euro expensive cheap",
  "pay paid pays payment",
  "owe owes debt loan lent lend borrow borrowed",
  "salary wage wages income",
  "invoice bill",
  "bookkeeper bookkeeping accountant accounts books",
  "tax taxes vat",
  "insurance insured premium policy",
  "offer offers quote quotes quoted estimate",
  "address lives live moved moves house flat apartment",
  "moving move moves removal relocation",
  "password passphrase phrase passcode pin code",
  "wifi wlan internet network",
  "phone telephone mobile call",
  "mail email letter",
  "car vehicle van truck",
  "drive driving driver licence license",
  "bike bicycle cycle",
  "flight plane airport fly flies",
  "trip journey travel ride",
  "holiday holidays vacation",
  "booking reservation reference ticket booked",
  "meal dinner lunch breakfast",
  "school class lesson",
  "exam examination test",
  "job work employment position",
  "colleague team staff employee employees",
  "company firm business",
  "customer client",
  "supplier vendor dealer",
  "begin begins start starts started",
  "end ends finish finished stop expire expires valid",
  "meeting appointment",
  "birthday born birth age old",
  "fetch pick pickup collect",
  "deliver delivery delivered ship shipping",
  "repair repaired fix fixed mend service technician",
  "broken broke defect fault error",
  "replace replaced change changed new",
  "check inspection inspected inspect inspector",
  "install installed installation mounting mounted",
  "decide decided decision agree agreed",
  "refuse refused decline declined reject rejected",
  "babysit babysitter nanny",
  "cat kitten tomcat",
  "dog puppy",
  "wood timber",
  "paint painted colour color",
  "big large size measures",
  "tall high height",
  "warm hot temperature",
  "document documents paper papers certificate diploma",
  "immigration visa permit",
  "aid aider help rescue",
  "spare extra second",
  "visit visits come comes guest guests",
  "belong belongings things furniture",
];

const alike = new Map<string, Set<string>>();
for (const group of GROUPS) {
  const words = group.split(" ");
  for (const word of words) {
    const known = alike.get(word) ?? new Set<string>();
    for (const other of words) known.add(other);
    alike.set(word, known);
  }
}

/** Words that mean the like of a lower-case one, without itself; none when it is not known. */
function wordsLike(word: string): readonly string[] {
  const forms = [word, word.replace(/(?:ed|ing|s)$/, ""), word.replace(/(?:ed|ing)$/, "e")];
  const found = forms.map((form) => alike.get(form)).find((words) => words !== undefined);
  return [...(found ?? [])].filter((other) => other !== word);
}
