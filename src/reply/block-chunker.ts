import { scanFences, spanAt, spanTest, splitFence, wholeUnits } from "./fences.ts";
import type { FenceSpan } from "./fences.ts";
import { scanTables, splitTable } from "./tables.ts";
import type { TableSpan } from "./tables.ts";
import { scanWhole } from "./whole.ts";
import type { WholeSpan } from "./whole.ts";

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
