import type { MarkdownIt, StateInline } from "markdown-it";

/** Characters of the longest comment; a longer one is text. */
const MOST = 2000;
const BREAK = /^<br[ \t]*\/?>$/i;
const MARK = /<br[ \t]{0,4}\/?>|<\/?u>|<!--[^]*?-->/iy;

/** Reads the HTML that models write amid Markdown: `<br>` breaks a line, `<u>` and comments show nothing. Other HTML is text. */
export function readHtmlMarks(parser: MarkdownIt): void {
  parser.inline.ruler.before("autolink", "html_mark", takeMark);
}

function takeMark(state: StateInline, silent: boolean): boolean {
  if (state.src.charAt(state.pos) !== "<") return false;
  const near = state.src.slice(state.pos, Math.min(state.posMax, state.pos + MOST));
  MARK.lastIndex = 0;
  const found = MARK.exec(near)?.[0];
  if (found === undefined) return false;
  if (!silent && BREAK.test(found)) state.push("hardbreak", "br", 0);
  state.pos += found.length;
  return true;
}
