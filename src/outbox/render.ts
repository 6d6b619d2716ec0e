import type { ChannelLimits } from "../types/channel.ts";
import type { OutboundPart, ReplyBlock } from "../types/reply.ts";

/** A block as the platform's own text, cut to its limit; never empty chunks. Markdown is loaded with the first one. */
export async function renderBlock(block: ReplyBlock, limits: ChannelLimits): Promise<readonly OutboundPart[]> {
  if (block.kind !== "media") return renderText(block.markdown, limits);
  const { media, caption, asVoice } = block;
  return [
    { kind: "media", media, ...(caption !== undefined && { caption }), ...(asVoice !== undefined && { asVoice }) },
  ];
}

export async function renderText(
  markdown: string,
  limits: ChannelLimits,
): Promise<readonly (OutboundPart & { kind: "text" })[]> {
  if (markdown.trim() === "") return [];
  // A resend is longer by its label and must fit all the same.
  const limit = limits.text - REPEAT_LABEL.length;
  if (limits.format === "telegram-html") {
    const { renderTelegramChunks } = await import("../reply/markdown/telegram.ts");
    const chunks = renderTelegramChunks(markdown, { limit });
    return chunks.map(({ html, plain }) => ({ kind: "text", body: html, format: "telegram-html", plain }));
  }
  const { createBlockChunker } = await import("../reply/chunker.ts");
  const chunker = createBlockChunker({ minChars: limit, maxChars: limit, breakPreference: "paragraph" });
  const chunks = [...chunker.push(markdown), ...chunker.flush()];
  return chunks.map((body) => ({ kind: "text", body, format: limits.format, plain: body }));
}

/** Begins a resend whose first send may have arrived. */
export const REPEAT_LABEL = "(possible repeat) ";

export function labelled(part: OutboundPart): OutboundPart {
  if (part.kind === "text") return { ...part, body: REPEAT_LABEL + part.body, plain: REPEAT_LABEL + part.plain };
  return { ...part, caption: REPEAT_LABEL + (part.caption ?? "") };
}
