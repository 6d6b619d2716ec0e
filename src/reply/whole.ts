import type { FenceSpan } from "./fences.ts";
import { isBlockStart, linesOf, type Line } from "./lines.ts";
import type { TableSpan } from "./tables.ts";

/** A stretch within a paragraph that should stay in one piece. */
export interface WholeSpan {
  readonly start: number;
  /** The text's end when it may go on. */
  readonly end: number;
  readonly closed: boolean;
  /** `solid` means nothing in two pieces, such as a link; a `mark` could be closed and opened again. */
  readonly kind: "solid" | "mark";
}

/** What a text holds of links, addresses, inline code and marked words. Nothing follows the `last` text. */
export function scanWhole(
  text: string,
  blocks: { fences: readonly FenceSpan[]; tables: readonly TableSpan[] },
  last: boolean,
): WholeSpan[] {
  return paragraphsOf(linesOf(text, blocks.fences), blocks.tables).flatMap(({ start, end }) =>
    scanParagraph(text, { start, end, isOpen: end === text.length && !last }),
  );
}

interface Stretch {
  readonly start: number;
  readonly end: number;
}

/** Lines that hang together; those of a table each alone. */
function paragraphsOf(lines: readonly Line[], tables: readonly TableSpan[]): Stretch[] {
  const paragraphs: { start: number; end: number }[] = [];
  for (const [at, line] of lines.entries()) {
    const last = paragraphs.at(-1);
    if (last && goesOn(line, lines[at - 1], tables)) last.end = line.end;
    else paragraphs.push({ start: line.start, end: line.end });
  }
  return paragraphs;
}

function goesOn(line: Line, before: Line | undefined, tables: readonly TableSpan[]): boolean {
  if (before?.end !== line.start - 1 || before.text.trim() === "" || isBlockStart(line.text)) return false;
  if (line.isWhole && line.text.trim() === "") return false;
  return !tables.some((table) => table.isTorn !== true && table.start <= line.start && line.start <= table.end);
}

interface Paragraph extends Stretch {
  /** More of it may come. */
  readonly isOpen: boolean;
}

/** Where something that begins here ends; `open` when only further text can tell. */
type End = number | "open" | undefined;

function scanParagraph(text: string, paragraph: Paragraph): WholeSpan[] {
  const spans: WholeSpan[] = [];
  const closings = new Set<number>();
  for (let at = paragraph.start; at < paragraph.end;) {
    const size = sizeAt(text, at);
    const found = closings.has(at) ? undefined : beginsAt(text, at, paragraph);
    if (found?.end !== undefined) {
      const isClosed = found.end !== "open";
      const end = found.end === "open" ? paragraph.end : found.end;
      spans.push({ start: at, end, closed: isClosed, kind: found.kind });
      if (isClosed && found.kind === "mark") closings.add(end - size);
      if (isClosed && found.kind === "solid") at = end - size;
    }
    at += size;
  }
  return spans;
}

const RUNS = /([*_~`|])\1*|\\[^]/y;

/** Units that are read as one: a run of marks, or an escaped sign. */
function sizeAt(text: string, at: number): number {
  RUNS.lastIndex = at;
  return RUNS.exec(text)?.[0].length ?? 1;
}

/** No search goes farther, so that a stray mark costs little. */
const FARTHEST = 4000;

function beginsAt(
  text: string,
  at: number,
  paragraph: Paragraph,
): (Pick<WholeSpan, "kind"> & { end: End }) | undefined {
  const sign = text.charAt(at);
  const end = Math.min(paragraph.end, at + FARTHEST);
  const stretch = { start: at, end, isOpen: paragraph.isOpen && end === paragraph.end };
  if (sign === "[") return { kind: "solid", end: linkEnd(text, stretch) };
  if (text.startsWith("![", at)) return { kind: "solid", end: linkEnd(text, { ...stretch, start: at + 1 }) };
  if (sign === "h") return { kind: "solid", end: addressEnd(text, stretch) };
  if (sign === "`") return { kind: "solid", end: closingEnd(text, stretch, () => true) };
  if (sign === "|" && opens(text, at)) return { kind: "mark", end: closingEnd(text, inLine(text, stretch), closes) };
  if ("*_~".includes(sign) && opens(text, at)) return { kind: "mark", end: closingEnd(text, stretch, closes) };
  return undefined;
}

function inLine(text: string, { start, end, isOpen }: Paragraph): Paragraph {
  const newline = text.indexOf("\n", start);
  return newline < 0 || newline >= end ? { start, end, isOpen } : { start, end: newline, isOpen: false };
}

/** By CommonMark's rules for runs of marks; strikes and spoilers are runs of two. */
function opens(text: string, at: number): boolean {
  const size = sizeAt(text, at);
  const [before, after] = [text.charAt(at - 1), text.charAt(at + size)];
  if (isBlank(after) || (/[~|]/.test(text.charAt(at)) && size !== 2)) return false;
  if (text.charAt(at) === "_" && !isApart(before)) return false;
  return !isPunctuation(after) || isApart(before);
}

function closes(text: string, { start, end }: Stretch): boolean {
  const [before, after] = [text.charAt(start - 1), text.charAt(end)];
  if (isBlank(before) || (text.charAt(start) === "_" && !isApart(after))) return false;
  return !isPunctuation(before) || isApart(after);
}

const isBlank = (sign: string): boolean => sign.trim() === "";
const isPunctuation = (sign: string): boolean => /[\p{P}\p{S}]/u.test(sign);
const isApart = (sign: string): boolean => isBlank(sign) || isPunctuation(sign);

const WORDS = String.raw`(?:\\[^]|[^\\[\]])*`;
const LABEL = String.raw`\[(?:\\[^]|[^\\[\]]|\[${WORDS}\])*`;
const TARGET = String.raw`\((?:\\[^]|[^\\()\n]|\([^()\n]*\))*`;
const LINK = new RegExp(String.raw`^${LABEL}\](?:${TARGET}\)|\[[^[\]\n]*\])`);
const TORN_LINK = new RegExp(String.raw`^${LABEL}(?:\[${WORDS}|\]?|\](?:${TARGET}(?:\([^()\n]*)?|\[[^[\]\n]*))\\?$`);

function linkEnd(text: string, { start, end, isOpen }: Paragraph): End {
  const rest = text.slice(start, end);
  const link = LINK.exec(rest);
  if (link) return start + link[0].length;
  return isOpen && TORN_LINK.test(rest) ? "open" : undefined;
}

const ADDRESS = /https?:\/\/[^\s<>]+/y;

function addressEnd(text: string, { start, end, isOpen }: Paragraph): End {
  ADDRESS.lastIndex = start;
  if (!ADDRESS.test(text)) return undefined;
  return settled(Math.min(ADDRESS.lastIndex, end), { end, isOpen });
}

/** Behind the next run of the same marks. */
function closingEnd(
  text: string,
  { start, end, isOpen }: Paragraph,
  isClosing: (text: string, run: Stretch) => boolean,
): End {
  const size = sizeAt(text, start);
  const marks = text.slice(start, start + size);
  for (let at = start + size; at < end; at += sizeAt(text, at)) {
    const run = { start: at, end: at + sizeAt(text, at) };
    if (text.slice(run.start, run.end) === marks && isClosing(text, run)) return settled(run.end, { end, isOpen });
  }
  return isOpen ? "open" : undefined;
}

/** The next sign may still change what ends with the text. */
const settled = (at: number, { end, isOpen }: { end: number; isOpen: boolean }): End =>
  isOpen && at >= end ? "open" : at;
