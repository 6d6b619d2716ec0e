/** A formula in TeX, between `$…$` or `\(…\)` within a line, or `$$…$$` or `\[…\]` as a block, and as it was written. */
export interface Formula {
  readonly tex: string;
  readonly isBlock: boolean;
  readonly source: string;
}

/** The most characters of a formula, and of all formulas of a text, and how many it may have: drawing them takes time. */
const MOST = { formula: 4000, all: 20_000, count: 500 } as const;
/** Stand around the number of a formula in the text; from Unicode's private use, so no text has them. */
const [OPEN, CLOSE] = ["\uE000", "\uE001"];
const MARK = /\uE000(\d+)\uE001/;

const FENCE = /^ {0,3}(`{3,}|~{3,})/;

const KINDS = [
  { open: "$$", close: "$$", isBlock: true },
  { open: "\\[", close: "\\]", isBlock: true },
  { open: "\\(", close: "\\)", isBlock: false },
  { open: "$", close: "$", isBlock: false },
] as const;
type Kind = (typeof KINDS)[number];

/**
 * The text with a mark in place of each formula, which Markdown leaves alone, and the formulas. Those in code are code, and those
 * above the limits stay as they were written. Pure.
 */
export function withoutFormulas(text: string): { readonly body: string; readonly formulas: readonly Formula[] } {
  const formulas: Formula[] = [];
  if (!/\$|\\[([]/.test(text) || text.includes(OPEN)) return { body: text, formulas };
  const parts = outsideOfFences(text).map(({ part, isCode }) => (isCode ? part : withMarks(part, formulas)));
  return { body: parts.join("\n"), formulas };
}

interface TextPart {
  readonly part: string;
  readonly isCode: boolean;
}

function outsideOfFences(text: string): readonly TextPart[] {
  const parts: { lines: string[]; isCode: boolean }[] = [{ lines: [], isCode: false }];
  let fence: string | undefined;
  for (const line of text.split("\n")) {
    const marks = FENCE.exec(line)?.[1];
    const isCode = fence !== undefined || marks !== undefined;
    const last = parts.at(-1);
    if (last?.isCode === isCode) last.lines.push(line);
    else parts.push({ lines: [line], isCode });
    if (marks === undefined) continue;
    if (fence === undefined) fence = marks;
    else if (marks.startsWith(fence)) fence = undefined;
  }
  return parts.filter(({ lines }) => lines.length > 0).map(({ lines, isCode }) => ({ part: lines.join("\n"), isCode }));
}

/** Looks for each end once: an end that is farther is kept for the next beginning. */
class Ends {
  readonly #text: string;
  readonly #found = new Map<string, number>();

  constructor(text: string) {
    this.#text = text;
  }

  after(end: string, from: number): number {
    const known = this.#found.get(end);
    if (known !== undefined && (known === Infinity || known >= from)) return known;
    const at = this.#text.indexOf(end, from);
    this.#found.set(end, at < 0 ? Infinity : at);
    return at < 0 ? Infinity : at;
  }
}

function withMarks(text: string, formulas: Formula[]): string {
  let left = formulas.reduce<number>((sum, { tex }) => sum - tex.length, MOST.all);
  const ends = new Ends(text);
  let marked = "";
  let done = 0;
  const next = /`+|\$\$?|\\[([]|\\./g;
  for (let found = next.exec(text); found !== null; found = next.exec(text)) {
    const [opening] = found;
    const start = found.index;
    const from = start + opening.length;
    if (opening.startsWith("`")) {
      const end = ends.after(opening, from);
      if (end !== Infinity) next.lastIndex = end + opening.length;
      continue;
    }
    const kind = KINDS.find(({ open }) => open === opening);
    const end = kind === undefined ? Infinity : ends.after(kind.close, from);
    if (kind === undefined || end - from > Math.min(MOST.formula, left) || formulas.length === MOST.count) continue;
    if (!isFormula(text, kind, [start, end])) continue;
    left -= end - from;
    const source = text.slice(start, end + kind.close.length);
    marked += `${text.slice(done, start)}${OPEN}${formulas.length}${CLOSE}`;
    formulas.push({ tex: text.slice(from, end).trim(), isBlock: kind.isBlock, source });
    done = end + kind.close.length;
    next.lastIndex = done;
  }
  return marked + text.slice(done);
}

/** Text between dollar signs is a price, not a formula, if a space follows the first sign or a digit follows the last, as in `$5 and $6`. */
function isFormula(text: string, { open, isBlock }: Kind, [start, end]: readonly [number, number]): boolean {
  const inside = text.slice(start + open.length, end);
  if (inside.trim() === "" || /\n\s*\n/.test(inside)) return false;
  if (isBlock) return true;
  if (inside.includes("\n")) return false;
  if (open !== "$") return true;
  const [before, after] = [text.charAt(start - 1), text.charAt(end + 1)];
  return /^[\s([{"'“„—–-]?$/.test(before) && !/^\s|[\s\\]$/.test(inside) && !/[\w$]/.test(after);
}

/** Splits a text at the marks: a number is the place of a formula, the rest is text. */
export const withFormulas = (text: string): readonly (string | number)[] =>
  text
    .split(MARK)
    .map((piece, index) => (index % 2 === 0 ? piece : Number(piece)))
    .filter((piece) => piece !== "");

/** Whether a text has the mark of a formula. */
export const hasFormula = (text: string): boolean => text.includes(OPEN);

/** The text with the formulas as they were written, for code and addresses. */
export const asWritten = (text: string, formulas: readonly Formula[]): string =>
  withFormulas(text)
    .map((piece) => (typeof piece === "number" ? (formulas[piece]?.source ?? "") : piece))
    .join("");
