import type { MarkdownIt, StateInline } from "markdown-it";

/**
 * Formulas as models write them: `$x$`, `$$x$$`, `\(x\)`, `\[x\]`. A dollar before a letter or a digit closes no
 * formula: it begins a price.
 */
const DOLLARS = /\$\$[^$]{1,2000}\$\$|\$(?![\s$])[^$\n]{1,300}(?<![\s\\])\$(?![\p{L}\p{N}])/uy;
/** Characters of a formula in brackets, without the brackets. */
const MOST_CHARS = 2000;
/** Escaped brackets around anything else are brackets. */
const SAYS_MORE = /[\\^_={}+*/<>]/;

/** Keeps formulas as they are written, with their stars and backslashes: chats show no formulas, people read the signs. */
export function keepFormulas(parser: MarkdownIt): void {
  parser.inline.ruler.before("escape", "formula", takeFormula);
}

function takeFormula(state: StateInline, silent: boolean): boolean {
  const formula = formulaAt(state.src.slice(0, state.posMax), state.pos);
  if (formula === undefined) return false;
  if (!silent) state.pending += formula;
  state.pos += formula.length;
  return true;
}

function formulaAt(text: string, at: number): string | undefined {
  const sign = text.charAt(at);
  if (sign === "\\") return inBracketsAt(text, at);
  if (sign !== "$") return undefined;
  DOLLARS.lastIndex = at;
  return DOLLARS.exec(text)?.[0];
}

/** Searches no further than a formula may be long, so that thousands of opening brackets stay cheap. */
function inBracketsAt(text: string, at: number): string | undefined {
  const close = { "(": "\\)", "[": "\\]" }[text.charAt(at + 1)];
  if (close === undefined) return undefined;
  const near = text.slice(at, at + MOST_CHARS + 4);
  // An empty one is no formula.
  const end = near.indexOf(close, 3);
  const found = end === -1 ? "" : near.slice(0, end + 2);
  return SAYS_MORE.test(found.slice(2, -2)) ? found : undefined;
}
