import { cutPlace } from "./cut.ts";
import { inChunks } from "./in-chunks.ts";
import { plainOf } from "./plain.ts";
import type { StyledText } from "./styled.ts";
import type { TableMode } from "./table.ts";
import { htmlOf } from "./telegram-html.ts";

/** A Telegram message. */
export interface TelegramChunk {
  readonly html: string;
  /** The same text without formatting, for the case that Telegram refuses the entities. */
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

/**
 * Renders Markdown for Telegram, in as many messages as it takes: cut at blocks, else lines, else words, never inside a
 * link that fits. Formatting is closed and opened again at a cut. Markdown that shows nothing, such as a lone link
 * definition, is sent as it was written; text without visible signs gives no chunk. Never throws.
 */
export function renderTelegramChunks(markdown: string, options: TelegramChunkOptions = {}): TelegramChunk[] {
  const { limit = TELEGRAM_LIMIT, tables } = options;
  return inChunks(markdown, { tables }, (styled, from) => nextChunk(styled, from, limit));
}

function nextChunk(styled: StyledText, from: number, limit: number): { to: number; chunk: TelegramChunk } {
  for (let space = limit; ; space = Math.floor(space * 0.75)) {
    const cut = cutPlace(styled, from, space);
    const to = from + styled.text.slice(from, cut).trimEnd().length;
    const html = htmlOf(styled, from, to);
    const tight = space < limit / 4;
    // A single long address can exceed any limit. Then only its label is shown.
    const plain = tight ? styled.text.slice(from, to) : plainOf(styled, from, to);
    const fits = plain.length <= limit && (Buffer.byteLength(html) <= MAX_HTML_BYTES || space < 64);
    if (fits) return { to: cut, chunk: { html, plain } };
  }
}
