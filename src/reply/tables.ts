import { spanTest, type FenceSpan } from "./fences.ts";

/** A table, or what may still become one. */
export interface TableSpan {
  readonly start: number;
  /** Offset of the table's first row; the text's end when its first lines are not complete. */
  readonly body: number;
  readonly end: number;
  /** Whether no further line belongs to the table. */
  readonly closed: boolean;
  /** The first two lines of the table are not complete yet. */
  readonly isTorn?: boolean;
}

/** A head without a bar in front looks like a sentence until its second line is there. */
const HEAD = /^[ \t]*\|/;
const RULE = /^(?=.*\|)[ \t]*(?:\|[ \t]*)?:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*(?:\|[ \t]*)?$/;
const TORN_RULE = /^[ \t|:-]*$/;

/** Finds the tables of a text, which may end in the middle of a line; nothing follows the `last` text. */
export function scanTables(text: string, fences: readonly FenceSpan[], last: boolean): TableSpan[] {
  const tables: TableSpan[] = [];
  const lines = linesOutsideFences(text, fences);
  for (let at = 0; at < lines.length; at += 1) {
    const table = tableAt(lines, at, last);
    if (table === undefined) continue;
    tables.push(table);
    while ((lines[at + 1]?.start ?? Infinity) < table.end) at += 1;
  }
  return tables;
}

function tableAt(lines: readonly TextLine[], at: number, last: boolean): TableSpan | undefined {
  const [head, rule] = lines.slice(at, at + 2);
  if (!head || !HEAD.test(head.text)) return undefined;
  const torn = last ? undefined : tornAt(head, rule);
  if (torn !== undefined) return tornUntil(torn, head.start);
  if (rule?.start !== head.end + 1 || !RULE.test(rule.text) || cellsIn(rule.text) !== cellsIn(head.text))
    return undefined;
  const after = afterRows(lines, at + 2);
  const end = lines[after - 1]?.end ?? rule.end;
  return { start: head.start, body: rule.end + 1, end, closed: after < lines.length || last };
}

/** The end of a text whose last lines may still begin a table. */
function tornAt(head: TextLine, rule: TextLine | undefined): number | undefined {
  if (!head.isWhole) return head.end;
  return rule?.start === head.end + 1 && !rule.isWhole && TORN_RULE.test(rule.text) ? rule.end : undefined;
}

const tornUntil = (end: number, start: number): TableSpan => ({ start, body: end, end, closed: false, isTorn: true });

function afterRows(lines: readonly TextLine[], from: number): number {
  let at = from;
  while (isRowOf(lines[at], lines[at - 1])) at += 1;
  return at;
}

const isRowOf = (row: TextLine | undefined, before: TextLine | undefined): boolean =>
  row?.start === (before?.end ?? NaN) + 1 && !isBlockStart(row.text) && !(row.isWhole && row.text.trim() === "");

const cellsIn = (row: string): number =>
  row
    .trim()
    .replace(/^\||(?<!\\)\|$/g, "")
    .split(/(?<!\\)\|/).length;

/**
 * Cuts a text that begins with a table between two rows, so that the first part has at most `maxChars` units; the rest
 * repeats the head where that leaves space. `undefined` when no row fits.
 */
export function splitTable(
  text: string,
  table: TableSpan,
  maxChars: number,
): { chunk: string; rest: string } | undefined {
  // A line that has not arrived yet may end the table.
  const at = text
    .slice(0, maxChars + 1)
    .trimEnd()
    .lastIndexOf("\n", maxChars - 1);
  if (at <= table.body) return undefined;
  const head = table.body > maxChars / 2 ? "" : text.slice(table.start, table.body);
  return { chunk: text.slice(0, at), rest: head + text.slice(at + 1) };
}

/** A line outside of code fences. */
export interface TextLine {
  readonly start: number;
  /** End without the line break. */
  readonly end: number;
  readonly text: string;
  /** The line break of the line is there. */
  readonly isWhole: boolean;
}

const BLOCK_START = /^[ \t]*(?:[-+*][ \t]|\d{1,9}[.)][ \t]|#{1,6}[ \t]|>)/;

/** Whether a line begins a new block, which ends an open mark of the line before. */
export const isBlockStart = (line: string): boolean => BLOCK_START.test(line);

/** The lines of a text without the lines of its fences; the last line has no line break, and may be empty. */
export function linesOutsideFences(text: string, fences: readonly FenceSpan[]): TextLine[] {
  const lines: TextLine[] = [];
  const inFence = spanTest(fences.map((fence) => ({ ...fence, start: fence.start - 1 })));
  for (let start = 0; start <= text.length;) {
    const newline = text.indexOf("\n", start);
    const end = newline < 0 ? text.length : newline;
    if (!inFence(start)) lines.push({ start, end, text: text.slice(start, end), isWhole: newline >= 0 });
    start = end + 1;
  }
  return lines;
}
