import { scanFences, spanAt, splitFence, wholeUnits } from "./fences.ts";
import type { FenceSpan } from "./fences.ts";

/** Where a text is cut by preference. */
export type BreakPreference = "paragraph" | "newline" | "sentence";

export interface BlockChunkerOptions {
  /** UTF-16 units that a chunk should have before it is let go. */
  readonly minChars: number;
  /** UTF-16 units that no chunk exceeds; at least 16 are taken. */
  readonly maxChars: number;
  readonly breakPreference: BreakPreference;
  /** Let a chunk go at every paragraph, however short it is. */
  readonly flushOnParagraph?: boolean;
}

/** Cuts a text that arrives in parts into chunks. Where the parts were cut makes no difference. */
export interface BlockChunker {
  push(text: string): string[];
  /** Returns all that is left; an open fence is closed. */
  flush(): string[];
  /** What was pushed and not yet let go. */
  buffered(): string;
}

/** Below this many units a fence with its two markers leaves no room for content. */
const SMALLEST_MAX = 16;

// Marks never follow a break inside a line: at the start of the next chunk they would open a fence.
const BREAKS: Record<BreakPreference, RegExp> = {
  paragraph: /(?=\n[ \t]*\n)/g,
  newline: /(?=\n)/g,
  sentence: /(?<=[.!?…]["')\]*_]*)(?=[ \t]*\n|[ \t]+[^\s`~])|(?<=[。！？])(?=[^\s`~])/g,
};
const BLANK = /(?=[ \t]*\n|[ \t]+[^\s`~])/g;

/** Weaker breaks in the order in which they stand in when the preferred one does not come in time. */
const FALLBACKS: Record<BreakPreference, BreakPreference[]> = {
  paragraph: ["newline", "sentence"],
  newline: ["sentence"],
  sentence: ["newline"],
};

/**
 * Makes a chunker. Inside a code fence nothing is cut unless the fence alone exceeds `maxChars`: then it is closed and
 * opened again in the next chunk. Blanks at a cut are left out. Never throws.
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
  // Only this much decides, so that a long text and its parts are cut alike.
  const window = text.slice(0, limits.maxChars + 1);
  const spans = scanFences(window);
  const soft = softBreak(window, spans, limits);
  if (soft !== undefined) return cutAt(text, soft);
  if (text.length > limits.maxChars) return forcedCut(text, window, { spans, limits });
  return last ? lastCut(text, spans, limits) : undefined;
}

function lastCut(text: string, spans: FenceSpan[], limits: BlockChunkerOptions): Cut {
  const open = spans.find((span) => !span.closed);
  const chunk = text.trimEnd() + (open === undefined ? "" : `\n${open.close}`);
  return chunk.length > limits.maxChars ? forcedCut(text, text, { spans, limits }) : { chunk, rest: NOTHING };
}

function softBreak(window: string, spans: FenceSpan[], limits: BlockChunkerOptions): number | undefined {
  const { minChars, breakPreference, flushOnParagraph } = limits;
  const preferred = breaks(window, BREAKS[breakPreference], spans).find((at) => at >= minChars);
  if (flushOnParagraph !== true) return preferred;
  const paragraph = breaks(window, BREAKS.paragraph, spans)[0];
  return paragraph === undefined || (preferred ?? Infinity) < paragraph ? preferred : paragraph;
}

interface Around {
  readonly spans: FenceSpan[];
  readonly limits: BlockChunkerOptions;
}

function forcedCut(text: string, window: string, { spans, limits }: Around): Cut {
  const { minChars, maxChars, breakPreference } = limits;
  const lastBreak = (least: number): number | undefined =>
    [breakPreference, ...FALLBACKS[breakPreference]]
      .map((kind) => breaks(window, BREAKS[kind], spans).findLast((place) => place >= least))
      .find((place) => place !== undefined);
  const enough = lastBreak(minChars);
  if (enough !== undefined) return cutAt(text, enough);
  const span = spanAt(spans, Math.min(maxChars, window.length));
  if (span !== undefined && window.slice(0, span.start).trim() !== "") return cutAt(text, span.start - 1);
  const parts = span && splitFence(text, span, maxChars);
  if (parts !== undefined) return { chunk: parts.chunk, rest: { text: parts.rest, midLine: false } };
  const word = breaks(window, BLANK, span === undefined ? spans : []).at(-1);
  return cutAt(text, lastBreak(maxChars / 2) ?? word ?? hardBreak(text, maxChars));
}

/** Where the pattern matches outside of fences, beyond the first unit. */
function breaks(window: string, pattern: RegExp, spans: FenceSpan[]): number[] {
  return [...window.matchAll(pattern)]
    .map((match) => match.index)
    .filter((at) => at > 0 && spanAt(spans, at) === undefined);
}

/** Between two units, neither in a surrogate pair nor in front of marks that would open a fence at a line's start. */
function hardBreak(text: string, maxChars: number): number {
  let at = maxChars;
  while (at > 1 && /[`~]/.test(text.charAt(at))) at -= 1;
  return wholeUnits(text, at > 1 ? at : maxChars);
}

function cutAt(text: string, at: number): Cut {
  return { chunk: text.slice(0, at).trimEnd(), rest: { text: text.slice(at), midLine: text.charAt(at) !== "\n" } };
}
