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
