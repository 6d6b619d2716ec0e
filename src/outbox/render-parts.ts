import { createBlockChunker } from "../reply/block-chunker.ts";
import { renderChunks } from "../reply/format/chunks.ts";
import { renderTelegramChunks } from "../reply/markdown/telegram.ts";
import type { ChannelLimits } from "../types/chat/channel.ts";
import type { OutboundText } from "../types/chat/reply.ts";

/** Limits of the platform for a text. `text`: UTF-16 units of a message. */
export type RenderLimits = Pick<ChannelLimits, "format" | "text" | "lines" | "tables">;

/** Renders Markdown in the platform's format, cut to its limit, without empty chunks. Keeps the thread busy until it is done. */
export function renderParts(markdown: string, { format, text: limit, lines, tables }: RenderLimits): OutboundText[] {
  if (format === "telegram-html") {
    const chunks = renderTelegramChunks(markdown, { limit, ...(tables && { tables }) });
    return chunks.map(({ html, plain }) => ({ kind: "text", body: html, format, plain }));
  }
  if (format === "markdown") return asWritten(markdown, limit);
  return renderChunks(markdown, format, { limit, lines, tables }).map((chunk) => ({ kind: "text", format, ...chunk }));
}

function asWritten(markdown: string, limit: number): OutboundText[] {
  const chunker = createBlockChunker({ minChars: limit, maxChars: limit, breakPreference: "paragraph" });
  const chunks = [...chunker.push(markdown), ...chunker.flush()];
  return chunks.map((body) => ({ kind: "text", body, format: "markdown", plain: body }));
}
