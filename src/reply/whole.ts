import { spanTest, type FenceSpan } from "./fences.ts";
import { isBlockStart, linesOutsideFences, type TextLine } from "./lines.ts";
import type { TableSpan } from "./tables.ts";

/** A stretch within a paragraph that should stay in one piece. */
export interface WholeSpan {
  readonly start: number;
  /** Offset after the span; the text's end when the span may continue. */
  readonly end: number;
  readonly closed: boolean;
  /** `solid` must stay in one piece, such as a link; a `mark` could be closed and opened again. */
  readonly kind: "solid" | "mark";
}

/** Links, addresses, inline code and marked words of a text. Nothing follows the `last` text. */
export function scanWhole(
  text: string,
  blocks: { fences: readonly FenceSpan[]; tables: readonly TableSpan[] },
  last: boolean,
): WholeSpan[] {
  return paragraphsOf(linesOutsideFences(text, blocks.fences), blocks.tables).flatMap(({ start, end }) =>
    scanParagraph(text, { start, end, isOpen: end === text.length && !last }),
  );
}

interface Stretch {
  readonly start: number;
  readonly end: number;
}

/** Lines that belong together. Each line of a table is its own paragraph. */
function paragraphsOf(lines: readonly TextLine[], tables: readonly TableSpan[]): Stretch[] {
  const paragraphs: { start: number; end: number }[] = [];
  const inTable = tableTest(tables);
  for (const [at, line] of lines.entries()) {
    const last = paragraphs.at(-1);
    if (last && continues(line, lines[at - 1]) && !inTable(line.start)) last.end = line.end;
    else paragraphs.push({ start: line.start, end: line.end });
  }
  return paragraphs;
}

function continues(line: TextLine, before: TextLine | undefined): boolean {
  if (before?.end !== line.start - 1 || before.text.trim() === "" || isBlockStart(line.text)) return false;
  return !line.isWhole || line.text.trim() !== "";
}

/** Whether a line that begins at a place is a table's, for places in ascending order. */
function tableTest(tables: readonly TableSpan[]): (at: number) => boolean {
  const whole = tables.filter(({ isTorn }) => isTorn !== true);
  return spanTest(whole.map(({ start, end }) => ({ start: start - 1, end, closed: false })));
}

interface Paragraph extends Stretch {
  /** Whether more of the paragraph may come. */
  readonly isOpen: boolean;
}

/** Place where something that begins here ends; `open` when only further text can decide. */
type End = number | "open" | undefined;

function scanParagraph(text: string, paragraph: Paragraph): WholeSpan[] {
  const spans: WholeSpan[] = [];
  const closings = new Set<number>();
  let from = paragraph.start;
  for (const unit of unitsOf(text, paragraph)) {
    const { start, end: opened } = unit;
    const found = start < from || closings.has(start) ? undefined : beginsAt(text, unit, paragraph);
    if (found?.end === undefined) continue;
    const closed = found.end !== "open";
    const end = found.end === "open" ? paragraph.end : found.end;
    spans.push({ start, end, closed, kind: found.kind });
    if (found.kind === "solid") from = end;
    else if (closed) closings.add(end - (opened - start));
  }
  return spans;
}

/** Part of a text that is read as one: a run of marks, or the beginning of a link or an address. */
interface Unit extends Stretch {
  /** The next run of the same marks that can close it. */
  readonly closing: Stretch | undefined;
  /** End of the unit's line. */
  readonly lineEnd: number;
}

const UNITS = /\\[^\n]|([*_~`|])\1*|!?\[|h(?=ttps?:\/\/)|\n/g;

/** Read from the end, so that each unit already knows what closes it. */
function unitsOf(text: string, { start: from, end: lineEnd }: Stretch): Unit[] {
  const units: Unit[] = [];
  const closings = new Map<string, Stretch>();
  let line = lineEnd;
  for (const { 0: signs, 1: mark, index } of [...text.slice(from, lineEnd).matchAll(UNITS)].toReversed()) {
    const run = { start: from + index, end: from + index + signs.length };
    if (signs === "\n") line = run.start;
    if (signs === "\n" || signs.startsWith("\\")) continue;
    const key = `${mark}${signs.length}`;
    units.push({ ...run, closing: closings.get(key), lineEnd: line });
    if (mark === "`" || (mark !== undefined && closes(text, run))) closings.set(key, run);
  }
  return units.toReversed();
}

/** The most characters of a search, so that a stray sign delays little text. */
const FARTHEST = { solid: 4000, mark: 1000 };

function beginsAt(
  text: string,
  unit: Unit,
  paragraph: Paragraph,
): (Pick<WholeSpan, "kind"> & { end: End }) | undefined {
  const { start } = unit;
  const sign = text.charAt(start);
  const end = Math.min(paragraph.end, start + FARTHEST["*_~|".includes(sign) ? "mark" : "solid"]);
  const stretch = { start, end, isOpen: paragraph.isOpen && end === paragraph.end };
  if (sign === "[") return { kind: "solid", end: linkEnd(text, stretch) };
  if (sign === "!") return { kind: "solid", end: linkEnd(text, { ...stretch, start: start + 1 }) };
  if (sign === "h") return { kind: "solid", end: addressEnd(text, stretch) };
  if (sign === "`") return { kind: "solid", end: closingEnd(unit, stretch) };
  if (!opens(text, unit)) return undefined;
  return { kind: "mark", end: closingEnd(unit, sign === "|" ? inLine(unit, stretch) : stretch) };
}

const inLine = ({ lineEnd }: Unit, stretch: Paragraph): Paragraph =>
  lineEnd < stretch.end ? { ...stretch, end: lineEnd, isOpen: false } : stretch;

/** Whether a run of marks opens, by CommonMark's rules; strikes and spoilers are runs of two. */
function opens(text: string, { start, end }: Stretch): boolean {
  const sign = text.charAt(start);
  const [before, after] = [text.charAt(start - 1), text.charAt(end)];
  if (isBlank(after) || ("~|".includes(sign) && end - start !== 2)) return false;
  if (sign === "_" && !isApart(before)) return false;
  return !isPunctuation(after) || isApart(before);
}

function closes(text: string, { start, end }: Stretch): boolean {
  const [before, after] = [text.charAt(start - 1), text.charAt(end)];
  if (isBlank(before) || (text.charAt(start) === "_" && !isApart(after))) return false;
  return !isPunctuation(before) || isApart(after);
}

const BLANK = /^\s?$/;
const PUNCTUATION = /[\p{P}\p{S}]/u;
const isBlank = (sign: string): boolean => BLANK.test(sign);
const isPunctuation = (sign: string): boolean => PUNCTUATION.test(sign);
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

/** Place after the next run of the same marks. */
function closingEnd({ closing }: Unit, { end, isOpen }: Paragraph): End {
  if (closing !== undefined && closing.start < end) return settled(closing.end, { end, isOpen });
  return isOpen ? "open" : undefined;
}

/** The next sign may still change what ends with the text. */
const settled = (at: number, { end, isOpen }: { end: number; isOpen: boolean }): End =>
  isOpen && at >= end ? "open" : at;
