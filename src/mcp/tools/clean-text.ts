import { shorten } from "../../utils/text/shorten.ts";
import { withoutMarkers } from "../../utils/text/untrusted.ts";

/** Characters that show nothing, except for line breaks and tabs: a person who reads the text would not see them. */
const UNSEEN = /[\p{Cf}\p{Cc}\p{Default_Ignorable_Code_Point}\p{Co}\p{Cs}]/gu;
const KEPT = new Set(["\n", "\t"]);

/** A server's text that describes something: bounded, without invisible characters, markers and template tokens. */
export const cleanText = (text: string, most: number): string =>
  shorten(
    withoutMarkers(shorten(text, 4 * most).replaceAll(UNSEEN, (sign) => (KEPT.has(sign) ? sign : ""))),
    most,
  ).trim();
