import { shorten } from "./shorten.ts";
import { withoutMarkers } from "./untrusted.ts";

/** Characters that show nothing, except for line breaks and tabs: a person who reads the text would not see them. */
const UNSEEN = /[\p{Cf}\p{Cc}\p{Default_Ignorable_Code_Point}\p{Co}\p{Cs}]/gu;
const KEPT = new Set(["\n", "\t"]);

/** The text without characters that show nothing. */
export const visibleText = (text: string): string => text.replaceAll(UNSEEN, (sign) => (KEPT.has(sign) ? sign : ""));

/** A text of others that describes something: bounded, without invisible characters, markers and template tokens. */
export const cleanText = (text: string, most: number): string =>
  shorten(withoutMarkers(visibleText(shorten(text, 4 * most))), most).trim();

const LINE_ENDS = /[\s\p{Zl}\p{Zp}\u0085]+/gu;
/** Controls, blanks without width, halves of a pair, and signs that turn the order of the text after them around. */
const UNFIT = /[\p{Cc}\p{Cs}\u200B\u2060\uFEFF\u202A-\u202E\u2066-\u2069]+/gu;
/** No script has so many marks on one letter. */
const PILED_MARKS = /(\p{M}{6})\p{M}+/gu;
const MOST_NAME = 200;

/**
 * A name that somebody gave to himself, to a group or to a thread: on one line, at most 200 characters long. A sign of which a reader
 * sees only the effect becomes U+FFFD, so that the name does not become that of somebody else.
 */
export const readableName = (name: string): string => {
  const shown = shorten(name, 4 * MOST_NAME, () => "…", 1)
    .replaceAll(LINE_ENDS, " ")
    .replaceAll(UNFIT, "\uFFFD");
  return shorten(shown.replaceAll(PILED_MARKS, "$1"), MOST_NAME, () => "…", 1).trim();
};
