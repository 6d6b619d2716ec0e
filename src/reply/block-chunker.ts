import { scanFences, spanAt, spanTest, splitFence, wholeUnits, type FenceSpan } from "./fences.ts";
import { scanTables, splitTable, isBlockStart, linesOutsideFences, type TableSpan, type TextLine } from "./tables.ts";

/** Where a text is cut by preference. */
export type BreakPreference = "paragraph" | "newline" | "sentence";

export interface BlockChunkerOptions {
  /** UTF-16 units that a chunk should have before it is released. */
  readonly minChars: number;
  /** UTF-16 units that no chunk exceeds; at least 16 are taken. */
  readonly maxChars: number;
  readonly breakPreference: BreakPreference;
  /** Releases a chunk at every paragraph, however short it is. */
  readonly flushOnParagraph?: boolean;
}

/** Cuts a text that arrives in parts into chunks. Where the parts were cut makes no difference. */
export interface BlockChunker {
  push(text: string): string[];
  /** Returns all that is left; an open fence is closed. */
  flush(): string[];
  /** The text that was pushed but not yet released. */
  buffered(): string;
}

/** Least limit in UTF-16 units: below, a fence and its two markers leave no space for content. */
const SMALLEST_MAX = 16;

// Marks never follow a break inside a line: at the start of the next chunk they would open a fence.
const BREAKS: Record<BreakPreference, RegExp> = {
  paragraph: /(?=\n[ \t]*\n)/g,
  newline: /(?=\n)/g,
  sentence: /(?=[ \t\n])(?<=[.!?…]["')\]*_]*)(?=[ \t]*\n|[ \t]+[^\s`~])|(?<=[。！？])(?=[^\s`~])/g,
};
const BLANKS = /[ \t]+|\n/g;

/** Weaker breaks in the order in which they replace the preferred break when that does not come in time. */
const FALLBACKS: Record<BreakPreference, BreakPreference[]> = {
  paragraph: ["newline", "sentence"],
  newline: ["sentence"],
  sentence: ["newline"],
};

/**
 * Makes a chunker. Inside a code fence or a table nothing is cut unless it alone exceeds `maxChars`: then the fence is
 * closed and opened again in the next chunk, and the table's head repeated. Links, addresses and inline code that fit are
 * never cut, marked words only where nothing better comes in time. Blanks at a cut are left out. Never throws.
 */
export function createBlockChunker(options: BlockChunkerOptions): BlockChunker {
  const maxChars = Math.max(options.maxChars, SMALLEST_MAX);
  const limits = { ...options, maxChars, minChars: Math.min(Math.max(options.minChars, 1), maxChars) };
  let rest: Rest = { text: "", midLine: false };
  const drain = (last: boolean): string[] => {
    const chunks: string[] = [];
    for (let cut = nextCut(rest, limits, last); cut !== undefined; cut = nextCut(rest, limits, last)) {
      if (cut.chunk.trim() !== "") chunks.push(cut.chunk);
      rest = cut.rest;
    }
    rest = { ...rest, tried: rest.text.length };
    return chunks;
  };
  return {
    push(text) {
      rest = { ...rest, text: rest.text + text };
      return drain(false);
    },
    flush: () => drain(true),
    buffered: () => rest.text,
  };
}

interface Rest {
  readonly text: string;
  /** The last cut was between two words of a line: blanks that follow are no indentation. */
  readonly midLine: boolean;
  /** About so many units are known to have no place for a cut. */
  readonly tried?: number;
}

interface Cut {
  readonly chunk: string;
  readonly rest: Rest;
}

const NOTHING: Rest = { text: "", midLine: false };

function nextCut(rest: Rest, limits: BlockChunkerOptions, last: boolean): Cut | undefined {
  const inLine = rest.midLine ? rest.text.replace(/^[ \t]+/, "") : rest.text;
  const text = inLine.replace(/^(?:[ \t\r]*\n)+/, "");
  if (text.trim() === "") return last && rest.text !== "" ? { chunk: "", rest: NOTHING } : undefined;
  const soft = softCut(text, { limits, last, tried: rest.tried ?? 0 });
  if (soft !== undefined) return cutAt(text, soft);
  const window = windowOf(text, limits);
  if (text.length > limits.maxChars) return forcedCut(text, window, { layout: layoutOf(window, last), limits });
  return last ? lastCut(text, layoutOf(window, last), limits) : undefined;
}

/** Only this much decides, so that a long text and its parts are cut alike. */
const windowOf = (text: string, { maxChars }: BlockChunkerOptions): string => text.slice(0, maxChars + 1);

/** Units after the smallest chunk that are searched first. */
const FIRST_LOOK = 32;

/** Searches the beginning of the window first, so that a cut does not cost a scan of the whole window. */
function softCut(
  text: string,
  { limits, last, tried }: { limits: BlockChunkerOptions; last: boolean; tried: number },
): number | undefined {
  const window = windowOf(text, limits);
  for (let size = Math.max(limits.minChars, tried) + FIRST_LOOK; size < window.length; size *= 2) {
    const early = softBreak(window.slice(0, size), limits, false);
    if (early !== undefined) return early;
  }
  return softBreak(window, limits, last);
}

/** The parts of a text that must not be cut. */
interface Layout {
  readonly fences: readonly FenceSpan[];
  readonly tables: readonly TableSpan[];
  /** Blocks, and spans that mean nothing in two pieces. */
  readonly solid: readonly Span[];
  /** The same with marked words. */
  readonly all: readonly Span[];
}

type Span = Pick<WholeSpan, "start" | "end" | "closed">;

function layoutOf(window: string, last: boolean): Layout {
  const fences = scanFences(window);
  const tables = scanTables(window, fences, last);
  const whole = scanWhole(window, { fences, tables }, last);
  const solid = [...fences, ...tables, ...whole.filter(({ kind }) => kind === "solid")];
  return { fences, tables, solid, all: [...fences, ...tables, ...whole] };
}

function lastCut(text: string, layout: Layout, limits: BlockChunkerOptions): Cut {
  const open = layout.fences.find((span) => !span.closed);
  const chunk = text.trimEnd() + (open === undefined ? "" : `\n${open.close}`);
  return chunk.length > limits.maxChars ? forcedCut(text, text, { layout, limits }) : { chunk, rest: NOTHING };
}

function softBreak(window: string, limits: BlockChunkerOptions, last: boolean): number | undefined {
  const { minChars, breakPreference, flushOnParagraph } = limits;
  let layout: Layout | undefined;
  // Most texts have no place for a cut, and then the text around it need not be searched.
  const first = (kind: BreakPreference, least: number): number | undefined => {
    const places = placesOf(window, BREAKS[kind]).filter((at) => at >= least);
    if (places.length === 0) return undefined;
    layout ??= layoutOf(window, last);
    return outside(places, layout.all)[0];
  };
  const preferred = first(breakPreference, minChars);
  if (flushOnParagraph !== true) return preferred;
  const paragraph = first("paragraph", 1);
  return paragraph === undefined || (preferred ?? Infinity) < paragraph ? preferred : paragraph;
}

interface Around {
  readonly layout: Layout;
  readonly limits: BlockChunkerOptions;
}

function forcedCut(text: string, window: string, around: Around): Cut {
  const { layout, limits } = around;
  const enough = lastBreak(window, layout.all, limits);
  if (enough !== undefined) return cutAt(text, enough);
  const edge = Math.min(limits.maxChars, window.length);
  const fence = spanAt(layout.fences, edge);
  const table = spanAt(layout.tables, edge);
  const block = fence ?? table;
  if (block !== undefined && window.slice(0, block.start).trim() !== "") return cutAt(text, block.start - 1);
  const parts = fence ? splitFence(text, fence, limits.maxChars) : table && splitTable(text, table, limits.maxChars);
  if (parts !== undefined) return { chunk: parts.chunk, rest: { text: parts.rest, midLine: false } };
  return cutAt(text, innerBreak(text, window, { ...around, layout: block ? withoutBlock(layout, block) : layout }));
}

/** A block that cannot be split in its own way is cut like a paragraph. */
function withoutBlock(layout: Layout, block: Span): Layout {
  const others = (spans: readonly Span[]): readonly Span[] => spans.filter((span) => span !== block);
  return { ...layout, solid: others(layout.solid), all: others(layout.all) };
}

/** The best of the bad places: rather within marked words than after only a few words, and inside a link last. */
function innerBreak(text: string, window: string, { layout, limits }: Around): number {
  const { maxChars } = limits;
  const half = { ...limits, minChars: maxChars / 2 };
  const word = (spans: readonly Span[]): number | undefined => outside(blanksOf(window), spans).at(-1);
  const unmarked = word(layout.all) ?? 0;
  return (
    lastBreak(window, layout.all, half) ??
    (unmarked >= half.minChars ? unmarked : undefined) ??
    lastBreak(window, layout.solid, half) ??
    word(layout.solid) ??
    outsideOf(layout.solid, text, maxChars) ??
    word([]) ??
    hardBreak(text, maxChars)
  );
}

/** Undefined where a solid span fills all the space. */
function outsideOf(spans: readonly Span[], text: string, maxChars: number): number | undefined {
  const at = hardBreak(text, maxChars);
  const span = spanAt(spans, at);
  if (span === undefined) return at;
  return span.start > 0 ? span.start : undefined;
}

function lastBreak(window: string, spans: readonly Span[], limits: BlockChunkerOptions): number | undefined {
  const { minChars, breakPreference } = limits;
  return [breakPreference, ...FALLBACKS[breakPreference]]
    .map((kind) => breaks(window, BREAKS[kind], spans).findLast((place) => place >= minChars))
    .find((place) => place !== undefined);
}

/** Where the pattern matches outside of these spans, beyond the first unit. */
const breaks = (window: string, pattern: RegExp, spans: readonly Span[]): number[] =>
  outside(placesOf(window, pattern), spans);

function placesOf(window: string, pattern: RegExp): number[] {
  return [...window.matchAll(pattern)].map((match) => match.index).filter((at) => at > 0);
}

/**
 * Places of blanks between two words or before a line break, beyond the first unit; each run of blanks is read once.
 */
function blanksOf(window: string): number[] {
  const runs = [...window.matchAll(BLANKS)].filter(
    ({ 0: run, index }) => run === "\n" || /^(?:\n|[^\s`~])/.test(window.charAt(index + run.length)),
  );
  return runs.flatMap(({ 0: run, index }) => Array.from(run, (_, at) => index + at)).filter((at) => at > 0);
}

function outside(places: readonly number[], spans: readonly Span[]): number[] {
  const isTorn = spanTest(spans);
  return places.filter((at) => !isTorn(at));
}

/** Between two units, neither in a surrogate pair nor before marks that would open a fence at a line's start. */
function hardBreak(text: string, maxChars: number): number {
  let at = maxChars;
  while (at > 1 && /[`~]/.test(text.charAt(at))) at -= 1;
  return wholeUnits(text, at > 1 ? at : maxChars);
}

function cutAt(text: string, at: number): Cut {
  return { chunk: text.slice(0, at).trimEnd(), rest: { text: text.slice(at), midLine: text.charAt(at) !== "\n" } };
}

/** A stretch within a paragraph that should stay in one piece. */
interface WholeSpan {
  readonly start: number;
  /** Offset after the span; the text's end when the span may continue. */
  readonly end: number;
  readonly closed: boolean;
  /** `solid` must stay in one piece, such as a link; a `mark` could be closed and opened again. */
  readonly kind: "solid" | "mark";
}

/** Links, addresses, inline code and marked words of a text. Nothing follows the `last` text. */
function scanWhole(
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
