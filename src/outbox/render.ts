import type * as TelegramRenderer from "../reply/markdown/telegram.ts";
import type { ChannelLimits } from "../types/chat/channel.ts";
import type { OutboundPart, OutboundText } from "../types/chat/reply.ts";

/** Kept, because Node takes some time to look up a module that it has loaded already. */
let telegram: typeof TelegramRenderer | undefined;

/** Renders Markdown in the platform's format, cut to its limit, without empty chunks. The renderer is loaded on first use. */
export async function renderText(markdown: string, limits: ChannelLimits): Promise<readonly OutboundText[]> {
  if (markdown.trim() === "") return [];
  // A resend must fit with its label.
  const limit = Math.max(1, limits.text - REPEAT_LABEL.length - 1);
  const { format, lines, tables } = limits;
  if (format === "telegram-html") {
    telegram ??= await import("../reply/markdown/telegram.ts");
    const { renderTelegramChunks } = telegram;
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

/** The start of a resend whose first send may have arrived. */
const REPEAT_LABEL = "(possible repeat) ";

/** Marks that count only at the start of a line. */
const LINE_MARKS = /^(?:>|```)/;

/** Adds the label, but only once, since a chunk has space for only one. */
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

/** The text of a message or its caption. Empty when there is none. */
export const partText = (part: OutboundPart): string => (part.kind === "text" ? part : part.caption)?.plain ?? "";
