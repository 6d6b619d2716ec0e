import { wordsLike } from "./alike.ts";

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

/** At most 32 different words; those of a question's grammar only when there are no others. */
export function wordsOf(query: string): readonly string[] {
  const all = [...new Set(query.toLowerCase().match(/[\p{L}\p{N}\p{M}]+/gu))];
  const telling = all.filter((word) => !STOP_WORDS.has(word) && !/^[a-z]$/.test(word));
  return (telling.length > 0 ? telling : all).slice(0, MOST_WORDS);
}

/** The texts that the index of parts can find: three characters at least, and each three of a script without spaces. */
export function partsOf(word: string): readonly string[] {
  const characters = Array.from(word);
  if (characters.length < 3) return [];
  if (!CJK.test(word)) return [word];
  return characters.slice(2).map((_last, index) => characters.slice(index, index + 3).join(""));
}

/** Whether the index of parts cannot find a word of a script without spaces, where two characters are a word. */
export const isShort = (word: string): boolean => CJK.test(word) && Array.from(word).length === 2;

/** FTS5's expression for texts that have one of the words. */
export const anyOf = (words: readonly string[]): string => words.map((word) => `"${word}"`).join(" OR ");

/** The same for texts that have two of the words, or of those that people use for the same things. */
export function twoOf(words: readonly string[], isUsable: (word: string) => boolean): string {
  const groups = words.slice(0, PAIRED).map((word) => `(${anyOf([word, ...wordsLike(word).filter(isUsable)])})`);
  const pairs = groups.flatMap((group, at) => groups.slice(at + 1).map((other) => `(${group} AND ${other})`));
  return pairs.join(" OR ");
}
