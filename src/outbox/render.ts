import type { ChannelLimits } from "../types/chat/channel.ts";
import type { OutboundPart, OutboundText } from "../types/chat/reply.ts";

/** Markdown as the platform's own text, cut to its limit; never empty chunks. What renders it is loaded with the first one. */
export async function renderText(markdown: string, limits: ChannelLimits): Promise<readonly OutboundText[]> {
  if (markdown.trim() === "") return [];
  // A resend is longer by its label and must fit all the same.
  const limit = Math.max(1, limits.text - REPEAT_LABEL.length - 1);
  const { format, lines, tables } = limits;
  if (format === "telegram-html") {
    const { renderTelegramChunks } = await import("../reply/markdown/telegram.ts");
    const chunks = renderTelegramChunks(markdown, { limit, ...(tables && { tables }) });
    return chunks.map(({ html, plain }) => ({ kind: "text", body: html, format, plain }));
  }
  if (format === "markdown") return asWritten(markdown, limit);
  const { renderChunks } = await import("../reply/format/chunks.ts");
  return renderChunks(markdown, format, { limit, lines, tables }).map((chunk) => ({ kind: "text", format, ...chunk }));
}

async function asWritten(markdown: string, limit: number): Promise<readonly OutboundText[]> {
  const { createBlockChunker } = await import("../reply/chunker.ts");
  const chunker = createBlockChunker({ minChars: limit, maxChars: limit, breakPreference: "paragraph" });
  const chunks = [...chunker.push(markdown), ...chunker.flush()];
  return chunks.map((body) => ({ kind: "text", body, format: "markdown", plain: body }));
}

/** Begins a resend whose first send may have arrived. */
const REPEAT_LABEL = "(possible repeat) ";

/** Marks that count only at the start of a line. */
const LINE_MARKS = /^(?:>|```)/;

/** One label is all that a chunk has room for: one that has it stays as it is. */
export function labelled(part: OutboundPart): OutboundPart {
  if (part.kind === "text") return labelledText(part);
  const caption = part.caption ? labelledText(part.caption) : BARE_LABEL;
  return { ...part, caption };
}

const BARE_LABEL: OutboundText = { kind: "text", body: REPEAT_LABEL, plain: REPEAT_LABEL, format: "plain" };

function labelledText(part: OutboundText): OutboundText {
  if (part.body.startsWith(REPEAT_LABEL)) return part;
  const label = LINE_MARKS.test(part.body) ? `${REPEAT_LABEL}\n` : REPEAT_LABEL;
  const styles = part.styles?.map((style) => ({ ...style, start: style.start + label.length }));
  return { ...part, body: label + part.body, plain: label + part.plain, ...(styles && { styles }) };
}

/** The words of a message, also those below a file; empty where there are none. */
export const partText = (part: OutboundPart): string => (part.kind === "text" ? part : part.caption)?.plain ?? "";
