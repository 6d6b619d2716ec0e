import { t } from "../words/words.ts";

/** Most letters that are named. */
const MOST_LETTERS = 8;

/** A sentence that names the letters of a text that pass for Latin ones: `раypal.com` is read as another name than it is. */
export function lookAlikeWords(text: string): string | undefined {
  const letters = lookAlikes(text);
  if (letters.length === 0) return undefined;
  const named = letters.slice(0, MOST_LETTERS).map(numbered);
  return t("Contains letters that look like Latin ones: {letters}", {
    letters: letters.length > MOST_LETTERS ? `${named.join(", ")}, …` : named.join(", "),
  });
}

/**
 * The letters of a text that look like Latin ones and stand among Latin ones, each once: `раypal` with a Cyrillic р and а. Words that are
 * written in another script from end to end have none. Pure.
 */
function lookAlikes(text: string): readonly string[] {
  const mixed = [...text.matchAll(TOKEN)].flatMap(([token]) => (LATIN.test(token) ? suspectsIn(token) : []));
  return [...new Set([...Array.from(text).filter(isStyled), ...mixed])];
}

/**
 * The suspect letters of a token. `отчёт` in `отчёт.pdf` has none: it has a letter that looks like no Latin one, so it is a plain Russian
 * word. A part with a Latin letter in it, or of look-alikes alone, does have them.
 */
function suspectsIn(token: string): readonly string[] {
  const parts = [...token.matchAll(PART)].map(([part]) => ({ hasLatin: LATIN.test(part), letters: Array.from(part) }));
  return parts
    .filter(({ hasLatin, letters }) => hasLatin || letters.every((letter) => LIKE.has(letter)))
    .flatMap(({ letters }) => letters.filter((letter) => LIKE.has(letter)));
}

/** The letter and its number, which tells it from the Latin one: `а (U+0430)`. */
const numbered = (letter: string): string =>
  `${letter} (U+${(letter.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")})`;

/** Words with what holds them together in names, addresses and paths. */
const TOKEN = /[\p{L}\p{N}\p{M}_.@:/\\~+-]+/gu;
/** Letters between such signs. */
const PART = /[\p{L}\p{M}]+/gu;
const LATIN = /[A-Za-z]/;

/** A Latin letter as another sign: of mathematics, as wide as a Chinese sign, in a circle. */
const isStyled = (letter: string): boolean =>
  letter > "~" && /^\p{L}$|^\p{So}$|^\p{Nl}$/u.test(letter) && /^[A-Za-z]$/.test(letter.normalize("NFKC"));

/** Letters of Cyrillic, Greek, Armenian, Cherokee and phonetic alphabets that look like Latin ones (UTS 39, confusables). */
const LIKE: ReadonlySet<string> = new Set(
  Array.from(
    "авеѕіјкмнорсԁтухһгпԛԝѵьӏцзАВЕЅІЈКМНОРСТУХҮԌԚԜЗҺӀ" +
      "αβγεικνορτυχωϲϳηΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹ" +
      "օոսցհյքզԱՍՏՕԼ" +
      "ᎪᏴᏟᎠᎬᎻᎫᏦᏞᎷΝᏢᎡᏚᎢᏙᎳᏃ" +
      "ɡɑɩɪʏ",
  ),
);
