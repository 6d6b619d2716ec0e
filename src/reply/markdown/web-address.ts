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

/**
 * Treats bare web addresses as text, or as links if the parser's environment has `linksAddresses`: marks and entities inside them mean
 * nothing.
 */
export function keepWebAddresses(parser: MarkdownIt): void {
  parser.inline.ruler.after("text", "web_address", takeAddress);
}

function takeAddress(state: StateInline, silent: boolean): boolean {
  const { src, pos, posMax } = state;
  const scheme = src.startsWith("://", pos) ? SCHEME.exec(src.slice(Math.max(0, pos - 5), pos))?.[0] : undefined;
  if (scheme === undefined) return false;
  const rest = ownPart(src.slice(0, posMax), pos);
  if (rest.length <= "://".length) return false;
  if (!silent)
    write(
      state,
      scheme,
      rest.replace(ESCAPED, (_, sign?: string) => sign ?? "&"),
    );
  state.pos += rest.length;
  return true;
}

/** Writes an address whose scheme was written before, as text. */
function write(state: StateInline, scheme: string, rest: string): void {
  if (!isLink(state, scheme)) return void (state.pending += rest);
  state.pending = state.pending.slice(0, -scheme.length);
  state.push("link_open", "a", 1).attrSet("href", scheme + rest);
  state.push("text", "", 0).content = scheme + rest;
  state.push("link_close", "a", -1);
}

/** No link is inside another one, nor begins within a word. */
function isLink({ env, linkLevel, pending }: StateInline, scheme: string): boolean {
  if (env["linksAddresses"] !== true || linkLevel > 0) return false;
  return pending.endsWith(scheme) && !/[\p{L}\p{N}]$/u.test(pending.slice(0, -scheme.length).slice(-2));
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
