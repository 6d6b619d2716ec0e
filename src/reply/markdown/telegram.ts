import { flatten } from "./flatten.ts";
import { parseMarkdown } from "./parse.ts";
import { plainOf } from "./plain.ts";
import type { Span, StyledText } from "./styled.ts";
import type { TableMode } from "./table.ts";
import { htmlOf } from "./telegram-html.ts";

/** One Telegram message. */
export interface TelegramChunk {
  readonly html: string;
  /** The same without formatting, for when Telegram refuses the entities. */
  readonly plain: string;
}

export interface TelegramChunkOptions {
  /** UTF-16 units that neither the shown nor the plain text exceeds; Telegram takes 4096. */
  readonly limit?: number;
  readonly tables?: TableMode;
}

/** Telegram's limit for the text after entities parsing, in UTF-16 units (Bot API, sendMessage). */
const TELEGRAM_LIMIT = 4096;
/** Bytes of HTML; a cautious bound of ours, as the service refuses overlong requests. */
const MAX_HTML_BYTES = 16 * 1024;
/** Signs that show nothing; a message of these alone is refused. */
const INVISIBLE = /[\s\p{Cf}\p{Cc}\p{Variation_Selector}\u115f\u1160\u2800\u3164\uffa0]|\u034f|\u17b4|\u17b5/gu;

/**
 * Renders Markdown for Telegram, in as many messages as it takes: cut at blocks, else lines, else words, never inside a
 * link that fits. Formatting is closed and opened again at a cut. Markdown that shows nothing, such as a lone link
 * definition, is sent as it was written; text without visible signs gives no chunk. Never throws.
 */
export function renderTelegramChunks(markdown: string, options: TelegramChunkOptions = {}): TelegramChunk[] {
  const { limit = TELEGRAM_LIMIT, tables } = options;
  const chunks = chunksOf(flatten(parseMarkdown(markdown), tables), limit);
  if (chunks.length > 0 || !isVisible(markdown)) return chunks;
  const asWritten = { type: "text", text: markdown.toWellFormed() } as const;
  return chunksOf(flatten({ blocks: [{ type: "paragraph", children: [asWritten] }] }), limit);
}

function isVisible(text: string): boolean {
  return text.replace(INVISIBLE, "") !== "";
}

function chunksOf(styled: StyledText, limit: number): TelegramChunk[] {
  const chunks: TelegramChunk[] = [];
  for (let from = skipBlanks(styled.text, 0); from < styled.text.length;) {
    const { to, chunk } = nextChunk(styled, from, limit);
    if (isVisible(chunk.plain)) chunks.push(chunk);
    from = skipBlanks(styled.text, to);
  }
  return chunks;
}

function nextChunk(styled: StyledText, from: number, limit: number): { to: number; chunk: TelegramChunk } {
  for (let room = limit; ; room = Math.floor(room * 0.75)) {
    const cut = cutPlace(styled, from, room);
    const to = from + styled.text.slice(from, cut).trimEnd().length;
    const html = htmlOf(styled, from, to);
    const tight = room < limit / 4;
    // A single long address can exceed any limit; then the label has to do.
    const plain = tight ? styled.text.slice(from, to) : plainOf(styled, from, to);
    const fits = plain.length <= limit && (Buffer.byteLength(html) <= MAX_HTML_BYTES || room < 64);
    if (fits) return { to: cut, chunk: { html, plain } };
  }
}

/** Blank lines are left out at a cut; so are blanks, unless they indent a line. */
function skipBlanks(text: string, from: number): number {
  const midLine = from > 0 && text.charAt(from - 1) !== "\n";
  const blanks = midLine ? /[ \t]*(?:[ \t]*\n)*/y : /(?:[ \t]*\n)*/y;
  blanks.lastIndex = from;
  return from + (blanks.exec(text)?.[0].length ?? 0);
}

/** Where the part that begins at `from` ends: the last good place within `room` units. */
function cutPlace(styled: StyledText, from: number, room: number): number {
  const { text, spans, borders } = styled;
  const end = from + room;
  if (end >= text.length) return text.length;
  const links = spans.filter((span) => span.style.kind === "link" && span.end > from && span.start < end);
  const border = borders.findLast((place) => place > from && place <= end) ?? from;
  const line = lastBreak(text, /\n/, { from, end, links });
  const word = lastBreak(text, /\s/, { from, end, links });
  // A good place too near the start would make a message of a few words.
  const early = from + room / 4;
  const good = [border, line, word].find((place) => place > early) ?? Math.max(border, line, word);
  return good > from ? good : hardCut(text, { from, end, links });
}

interface Stretch {
  readonly from: number;
  readonly end: number;
  readonly links: readonly Span[];
}

function lastBreak(text: string, blank: RegExp, { from, end, links }: Stretch): number {
  for (let at = end; at > from; at -= 1) {
    if (blank.test(text.charAt(at)) && linkAt(links, at) === undefined) return at;
  }
  return from;
}

function hardCut(text: string, { from, end, links }: Stretch): number {
  const link = linkAt(links, end);
  if (link !== undefined && link.start > from) return link.start;
  const torn = text.charCodeAt(end) >> 10 === 0x37 && text.charCodeAt(end - 1) >> 10 === 0x36;
  return torn && end - 1 > from ? end - 1 : end;
}

function linkAt(links: readonly Span[], at: number): Span | undefined {
  return links.find((link) => link.start < at && at < link.end);
}
