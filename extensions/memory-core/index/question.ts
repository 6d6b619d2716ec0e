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

/** A character that may be a word of its own. */
const SYLLABLE = /^[\p{Script=Han}\p{Script=Hangul}]$/u;
/** Two characters in a row of these scripts are a word, or a part of one that tells something. */
const PAIRABLE = /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Hangul}]{2,}/gu;

/** What the index of parts cannot find of a word of a script without spaces: words of one or two characters, also in a whole sentence. */
export function shortWordsOf(word: string): readonly string[] {
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
export const anyOf = (words: readonly string[]): string => words.map((word) => `"${word}"`).join(" OR ");

/** The same for texts that have two of the words, or of those that people use for the same things. */
export function twoOf(words: readonly string[], isUsable: (word: string) => boolean): string {
  const groups = words.slice(0, PAIRED).map((word) => `(${anyOf([word, ...wordsLike(word).filter(isUsable)])})`);
  const pairs = groups.flatMap((group, at) => groups.slice(at + 1).map((other) => `(${group} AND ${other})`));
  return pairs.join(" OR ");
}
