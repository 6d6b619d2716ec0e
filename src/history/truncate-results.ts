import { estimateTextTokens, estimateTokens } from "../sessions/transcript/tokens.ts";
import type { ChatMessage, ToolResultMessage } from "../types/run/model.ts";
import { shorten } from "../utils/text/shorten.ts";
import { mapSame } from "./parts.ts";

/** The share of a window that one tool result may have. */
export const RESULT_SHARE = 0.3;

/** Tokens of a result that are never cut, because a note must fit into them. */
const LEAST_TOKENS = 100;

const note = (left: number): string =>
  `\n\n[… ${left} characters are left out here: the whole does not fit the model's window. Ask for the part that is needed. …]\n\n`;

/**
 * The messages with each tool result that alone would take more than `share` of the window cut to its head and tail. The
 * last one too; images stay. Pure, idempotent; gives back the very array when nothing is that large.
 */
export function truncateResults(
  messages: readonly ChatMessage[],
  { windowTokens, share = RESULT_SHARE }: { readonly windowTokens: number; readonly share?: number },
): readonly ChatMessage[] {
  const most = Math.max(LEAST_TOKENS, Math.floor(windowTokens * share));
  return mapSame(messages, (message) => (message.role === "toolResult" ? truncateResult(message, most) : message));
}

function truncateResult(message: ToolResultMessage, most: number): ToolResultMessage {
  if (estimateTokens(message) <= most) return message;
  const images = message.content.filter((part) => part.type === "image");
  const text = message.content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
  const textTokens = Math.max(LEAST_TOKENS, most - estimateTokens({ ...message, content: images }));
  const shortened = toTokens(text, textTokens);
  if (shortened === text) return message;
  return { ...message, content: [{ type: "text", text: shortened }, ...images] };
}

/** The head and the tail of a text, together at most this many tokens. */
function toTokens(text: string, most: number): string {
  const tokens = estimateTextTokens(text);
  if (tokens <= most) return text;
  // Where wide and narrow characters are mixed, the share of characters differs from that of tokens.
  for (let chars = Math.floor((text.length * most) / tokens); ; chars = Math.floor(chars * 0.9)) {
    const shorter = shorten(text, chars, note);
    if (estimateTextTokens(shorter) <= most) return shorter;
  }
}
