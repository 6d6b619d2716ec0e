import { keep, kept } from "../browser/kept.ts";

/**
 * The page's texts in the person's language. The code has each text in English, and that text is the key in the files of the
 * other languages. `{name}` in a text is replaced by a value. A text with counts has one form for each plural category, separated
 * by `|`, as `{n} run|{n} runs`; the value of `n` selects the form.
 */
type Values = Readonly<Record<string, string | number>>;
type Texts = Readonly<Record<string, string>>;

/** The languages of the page, each with its own name. */
export const LANGUAGES = [
  ["en", "English"],
  ["de", "Deutsch"],
] as const;
export type Language = (typeof LANGUAGES)[number][0];

/** The texts of the languages, which are loaded when they are used. */
const FILES: Readonly<Record<Language, () => Promise<Texts>>> = {
  en: async () => ({}),
  de: async () => (await import("./de.json")).default,
};

const used: { language: Language; texts: Texts } = { language: "en", texts: {} };

/** The language of the texts; dates and numbers are written in it. */
export const language = (): Language => used.language;

/**
 * Loads the texts of a language. It has to come before every module that has a text. Rejects when the file cannot be loaded;
 * the page is then in English.
 */
export async function useTexts(wanted: Language): Promise<void> {
  Object.assign(used, { language: wanted, texts: await FILES[wanted]() });
}

const known = (code: string | undefined): Language | undefined => LANGUAGES.find(([one]) => one === code)?.[0];

const CHOSEN = "openclaw.language";

/** The language that the person chose in this browser; undefined when it is the browser's. */
export const chosenLanguage = (): Language | undefined => known(kept(CHOSEN));

/**
 * Keeps the choice in this browser, for the next time that the page loads; a code that is no language removes the choice. Answers
 * whether the browser keeps it.
 */
export const keepLanguage = (code: string): boolean => keep(CHOSEN, known(code));

/** The first of the browser's languages that the page has, as `de-AT`; English when it has none. */
export function languageOf(preferred: readonly string[]): Language {
  const codes = preferred.map((tag) => known(tag.toLowerCase().split("-")[0]));
  return codes.find((code) => code !== undefined) ?? "en";
}

const PLACE = /\{(\w+)\}/g;

/** The text in the person's language, in the form for the value of `n`. */
function translated(text: string, n: unknown): string {
  const found = used.texts[text] ?? text;
  if (typeof n !== "number" || !found.includes("|")) return found;
  const rules = new Intl.PluralRules(used.language);
  return found.split("|")[rules.resolvedOptions().pluralCategories.indexOf(rules.select(n))] ?? found;
}

/** Controls except line ends and tabs, and signs that turn the order of the text after them around. */
const ACTING = /[^\P{Cc}\n\t]|[\u202A-\u202E\u2066-\u2069]/gu;

/**
 * A text of others for a place in words of the page or of the browser, such as a title or a fact of a row: signs of which a reader
 * sees only the effect, on the page's own words too, are shown as U+FFFD.
 */
export const seen = (text: string): string => text.replace(ACTING, "\uFFFD");

const written = (value: string | number): string =>
  typeof value === "number" ? value.toLocaleString(used.language) : seen(value);

/** The text cut at its places: every second piece is the name of a place. */
export const pieces = (text: string, n: unknown): readonly string[] => translated(text, n).split(PLACE);

/** A text in the person's language, with the values in its places. Numbers are written as the language writes them. */
export function t(text: string, values: Values = {}): string {
  return pieces(text, values["n"])
    .map((piece, index) => (index % 2 === 0 ? piece : written(values[piece] ?? `{${piece}}`)))
    .join("");
}

const escaped = (text: string): string => text.replace(/[\^$.*+?()[\]{}|/-]/g, "\\$&");

/**
 * Makes the reader of a sentence that comes from the gateway in English: it gives the sentence in the person's language, each value of
 * its places as `say` says it, and undefined for any other text.
 */
export function said(text: string): (given: string, say: (value: string) => string) => string | undefined {
  const parts = text.split(PLACE);
  const names = parts.filter((_, index) => index % 2 === 1);
  const form = parts.map((part, index) => (index % 2 === 0 ? escaped(part) : "(.+?)")).join("");
  const pattern = new RegExp(`^${form}$`, "s");
  return (given, say) => {
    const found = pattern.exec(given);
    return found === null
      ? undefined
      : t(text, Object.fromEntries(names.map((name, index) => [name, say(found[index + 1] ?? "")])));
  };
}
