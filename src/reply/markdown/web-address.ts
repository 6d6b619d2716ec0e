import type { MarkdownIt, StateInline } from "markdown-it";

/** The text before the colon of an address. */
const SCHEME = /https?$/i;
const BEGINNING = /:\/\/(?=[\p{L}\p{N}[])/uy;
/**
 * Signs of an address, or one bracket. Two bars begin or end a spoiler; two stars before a sign that no address is
 * written with end bold text.
 */
const PART = /(?:(?!\|\||\*\*[^!-~])[^\s<>"`，。、！？；：）」』】》()[\]])+|[()[\]]/uy;
const TRAILING = /[?!.,:;*_~']/;
const CLOSING: Readonly<Record<string, string>> = { ")": "(", "]": "[" };
/** An escape that a model wrote for Markdown's sake, or an ampersand that came out of HTML. */
const ESCAPED = /\\([!-/:-@[-`{-~])|&amp;/g;

/** Treats bare web addresses as text: marks and entities inside them mean nothing. */
export function keepWebAddresses(parser: MarkdownIt): void {
  parser.inline.ruler.after("text", "web_address", takeAddress);
}

function takeAddress(state: StateInline, silent: boolean): boolean {
  const { src, pos, posMax } = state;
  if (!src.startsWith("://", pos) || !SCHEME.test(src.slice(Math.max(0, pos - 5), pos))) return false;
  const rest = ownPart(src.slice(0, posMax), pos);
  if (rest.length <= "://".length) return false;
  if (!silent) state.pending += rest.replace(ESCAPED, (_, sign?: string) => sign ?? "&");
  state.pos += rest.length;
  return true;
}

/** Address without the signs of the sentence around it. */
function ownPart(text: string, start: number): string {
  BEGINNING.lastIndex = start;
  if (!BEGINNING.test(text)) return "";
  let end = runEnd(text, BEGINNING.lastIndex);
  while (end > start && TRAILING.test(text.charAt(end - 1))) end -= 1;
  return text.slice(start, end);
}

/** Where a bracket closes that was opened before the address, else the end of the address. */
function runEnd(text: string, from: number): number {
  const open: string[] = [];
  for (let at = from; ; at = PART.lastIndex) {
    PART.lastIndex = at;
    const part = PART.exec(text)?.[0];
    if (part === undefined) return at;
    if (part === "(" || part === "[") open.push(part);
    const partner = CLOSING[part];
    if (partner === undefined) continue;
    const last = open.lastIndexOf(partner);
    if (last < 0) return at;
    open.length = last;
  }
}
