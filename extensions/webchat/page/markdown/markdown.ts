import { parseMarkdown } from "openclaw/plugin-sdk/markdown";
import type { Block } from "openclaw/plugin-sdk/markdown";

/** A top-level block of an answer; `plain` is text that is shown as it was written. */
export type Piece = Block | { readonly type: "plain"; readonly text: string };

/** Above these limits Markdown is shown as its source: characters of a text, number of blocks. */
const LIMITS = { text: 200_000, blocks: 3000 } as const;
/** Maximum characters of a piece of plain text. */
const PLAIN_PIECE = 50_000;

/**
 * The blocks of a Markdown text. While the text grows, an unfinished fence or span at its end is completed. Markdown that shows
 * no text, such as a lone link definition or line, is shown as its source. Never throws.
 */
export function markdownPieces(text: string, growing: boolean): readonly Piece[] {
  if (text.length > LIMITS.text) return plainPiecesOf(text);
  const { blocks } = parseMarkdown(growing ? completed(text) : text, { linksAddresses: true });
  return blocks.length > LIMITS.blocks || !blocks.some(showsText) ? plainPiecesOf(text) : blocks;
}

/** Whether there is text in a block. A line alone is no answer that a person can read. */
function showsText(block: Block): boolean {
  if (block.type === "quote") return block.children.some(showsText);
  if (block.type === "list") return block.items.flat().some(showsText);
  return block.type === "paragraph" ? block.children.length > 0 : block.type !== "rule";
}

/** The text in pieces, cut after line ends where possible. */
function plainPiecesOf(text: string): readonly Piece[] {
  const pieces: Piece[] = [];
  for (let start = 0; start < text.length;) {
    const line = text.lastIndexOf("\n", start + PLAIN_PIECE) + 1;
    const end = line > start && start + PLAIN_PIECE < text.length ? line : start + PLAIN_PIECE;
    pieces.push({ type: "plain", text: text.slice(start, end) });
    start = end;
  }
  return pieces;
}

/** Removes an incomplete fence from the end of the text, and closes bold and code that are open in the last line. */
function completed(text: string): string {
  const inFence = (text.match(/^ {0,3}(?:```|~~~)/gm)?.length ?? 0) % 2 === 1;
  const whole = text.replace(/(^|\n) {0,3}(?:`{1,2}|~{1,2})$/, "$1");
  return inFence || whole !== text ? whole : withEndedSpans(text);
}

function withEndedSpans(text: string): string {
  const line = text.slice(text.lastIndexOf("\n") + 1);
  const ticks = line.match(/`/g)?.length ?? 0;
  if (ticks % 2 === 1) return line.endsWith("`") ? text.slice(0, -1) : `${text}\``;
  const stars = line.replace(/`[^`]*`/g, "").match(/\*\*/g)?.length ?? 0;
  if (stars % 2 === 0) return text;
  return /\*\*\s*$/.test(text) ? text.replace(/\*\*\s*$/, "") : `${text}**`;
}
