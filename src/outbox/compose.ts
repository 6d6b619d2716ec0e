import type { AlbumLimits, ChannelLimits } from "../types/chat/channel.ts";
import type { MediaItem } from "../types/chat/message.ts";
import type { OutboundFiles, OutboundPart, OutboundText, ReplyBlock } from "../types/chat/reply.ts";
import { renderText } from "./render.ts";

/** Rules that keep blocks of a reply apart, and the callback for a text that could not be rendered. */
export interface Composing {
  /** The first text replaces a preview, so it stays its own message. */
  readonly hasPreview: boolean;
  /** The last message has buttons, which albums cannot have. */
  readonly hasButtons: boolean;
  /** Called with the reason. */
  report?(why: string): void;
}

/**
 * The messages of a reply in order. A text that fits becomes the caption of the files after it, and files that can form one
 * album do.
 */
export async function composeReply(
  blocks: readonly ReplyBlock[],
  limits: ChannelLimits,
  { hasPreview, hasButtons, report }: Composing,
): Promise<readonly OutboundPart[]> {
  const pieces = gather(blocks, hasButtons ? undefined : limits.album);
  const parts: OutboundPart[] = [];
  let caption: OutboundText | undefined;
  for (const [at, piece] of pieces.entries()) {
    if (piece.kind === "media") {
      parts.push(caption ? { ...piece, caption } : piece);
      caption = undefined;
      continue;
    }
    const files = piece.kind === "text" && !hasPreview ? pieces[at + 1] : undefined;
    caption = files?.kind === "media" ? await captionOf(piece.markdown, files, limits) : undefined;
    if (!caption) parts.push(...(await renderText(piece.markdown, limits, report)));
  }
  return parts;
}

type Piece = Exclude<ReplyBlock, { kind: "media" }> | OutboundFiles;

function gather(blocks: readonly ReplyBlock[], album: AlbumLimits | undefined): readonly Piece[] {
  const pieces: Piece[] = [];
  for (const block of blocks) {
    const before = pieces.at(-1);
    const joined = block.kind === "media" && before?.kind === "media" && album ? join(before, block, album) : undefined;
    if (joined) pieces.splice(-1, 1, joined);
    else pieces.push(block);
  }
  return pieces;
}

/** Undefined when the two cannot be one message. */
function join(before: OutboundFiles, next: OutboundFiles, album: AlbumLimits): OutboundFiles | undefined {
  const { files, bytes = Infinity, sortOf = () => "any" } = album;
  if (isAlone(before) || isAlone(next)) return undefined;
  const sort = sortOf(before.media);
  if (sort === undefined || sort !== sortOf(next.media)) return undefined;
  const more = [...(before.more ?? []), next.media];
  if (more.length + 1 > files || sizeOf([before.media, ...more]) > bytes) return undefined;
  return { ...before, more };
}

const isAlone = ({ media: { kind }, asVoice }: OutboundFiles): boolean =>
  asVoice === true || kind === "voice" || kind === "sticker";

const sizeOf = (items: readonly MediaItem[]): number => items.reduce((sum, { bytes = 0 }) => sum + bytes, 0);

async function captionOf(
  markdown: string,
  { media }: OutboundFiles,
  limits: ChannelLimits,
): Promise<OutboundText | undefined> {
  const { caption, text } = limits;
  if (!caption || caption.not?.includes(media.kind)) return undefined;
  const [whole, ...more] = await renderText(markdown, { ...limits, text: Math.min(text, caption.text) });
  return more.length === 0 ? whole : undefined;
}
