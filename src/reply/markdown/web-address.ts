import type { MarkdownIt, StateInline } from "markdown-it";

/** What stands before a colon that begins an address. */
const SCHEME = /https?$/i;
/** Two bars begin or end a spoiler; two stars before a sign that no address is written with end bold text. */
const ADDRESS = /:\/\/(?=[\p{L}\p{N}[])(?:(?!\|\||\*\*[^!-~])[^\s<>"`，。、！？；：）」』】》])+/uy;
const TRAILING = /[?!.,:;*_~']/;
const CLOSING: Readonly<Record<string, string>> = { ")": "(", "]": "[" };
/** An escape that a model wrote for Markdown's sake, or an ampersand that came out of HTML. */
const ESCAPED = /\\([!-/:-@[-`{-~])|&amp;/g;

/** Bare web addresses are text to their last sign: marks and entities inside of them mean nothing. */
export function keepWebAddresses(parser: MarkdownIt): void {
  parser.inline.ruler.after("text", "web_address", takeAddress);
}

function takeAddress(state: StateInline, silent: boolean): boolean {
  const { src, pos, posMax } = state;
  if (!src.startsWith("://", pos) || !SCHEME.test(src.slice(Math.max(0, pos - 5), pos))) return false;
  ADDRESS.lastIndex = pos;
  const rest = ownPart(ADDRESS.exec(src.slice(0, posMax))?.[0] ?? "");
  if (rest.length <= "://".length) return false;
  if (!silent) state.pending += rest.replace(ESCAPED, (_, sign?: string) => sign ?? "&");
  state.pos += rest.length;
  return true;
}

/** Without what belongs to the sentence around the address. */
function ownPart(run: string): string {
  let end = firstUnpaired(run);
  while (end > 0 && TRAILING.test(run.charAt(end - 1))) end -= 1;
  return run.slice(0, end);
}

/** Where a bracket closes that was opened before the address, else its end. */
function firstUnpaired(run: string): number {
  const open: string[] = [];
  for (const [at, sign] of run.split("").entries()) {
    if (sign === "(" || sign === "[") open.push(sign);
    const partner = CLOSING[sign];
    if (partner === undefined) continue;
    const from = open.lastIndexOf(partner);
    if (from < 0) return at;
    open.length = from;
  }
  return run.length;
}
