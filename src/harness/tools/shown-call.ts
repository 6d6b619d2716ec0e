import { BLANKS, IGNORABLE, NO_LETTERS } from "../../utils/text/unicode.ts";

// Characters that a screen does not show, shows elsewhere or draws over others, and runs of blanks that push text out
// of sight.
const UNSEEN = new RegExp(String.raw`[[${IGNORABLE}${NO_LETTERS}${BLANKS}]--[ ]]| {12,}`, "gv");

const escaped = (text: string): string =>
  text.replaceAll(/./gs, (unit) => String.raw`\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);

/** A text for a person who decides by it: characters that they could not see are written as escapes. Pure. */
export const visible = (text: string): string => text.replaceAll(UNSEEN, escaped);

/** A call with its arguments, for a person who decides about it. Pure. */
export const shownCall = (name: string, params: unknown): string => visible(`${name} ${JSON.stringify(params)}`);
