import type { MarkdownIt, StateInline } from "markdown-it";

/** Formulas as models write them: `$x$`, `$$x$$`, `\(x\)`, `\[x\]`. A dollar before a letter or a digit closes none: it begins a price. */
const DOLLARS = /\$\$[^$]{1,2000}\$\$|\$(?![\s$])[^$\n]{1,300}(?<![\s\\])\$(?![\p{L}\p{N}])/uy;
const BRACKETS = /\\\((?:(?!\\\))[^]){1,2000}\\\)|\\\[(?:(?!\\\])[^]){1,2000}\\\]/y;
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
  if (sign !== "$" && sign !== "\\") return undefined;
  const pattern = sign === "$" ? DOLLARS : BRACKETS;
  pattern.lastIndex = at;
  const found = pattern.exec(text)?.[0];
  return found !== undefined && (sign === "$" || SAYS_MORE.test(found.slice(2, -2))) ? found : undefined;
}
