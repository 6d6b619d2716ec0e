import type { ChatMessage } from "../types/model.ts";

/** Tokens of one image, whatever its size. */
const IMAGE_TOKENS = 1200;
const CJK = /[\u1100-\u11ff\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9d]/g;
const known = new WeakMap<ChatMessage, number>();

/** A quarter of a token per character, a whole one per CJK character, 1,200 per image; a few for the frame of a message. */
export function estimateTokens(message: ChatMessage): number {
  const before = known.get(message);
  if (before !== undefined) return before;
  const tokens = 4 + (typeof message.content === "string" ? textTokens(message.content) : partsTokens(message.content));
  known.set(message, tokens);
  return tokens;
}

type Parts = Exclude<ChatMessage["content"], string>;

function partsTokens(parts: Parts): number {
  let sum = 0;
  for (const part of parts) {
    if (part.type === "text") sum += textTokens(part.text);
    else if (part.type === "thinking") sum += textTokens(part.thinking);
    else if (part.type === "image") sum += IMAGE_TOKENS;
    else sum += textTokens(part.name) + textTokens(JSON.stringify(part.arguments));
  }
  return sum;
}

export function textTokens(text: string): number {
  const wide = text.match(CJK)?.length ?? 0;
  return wide + Math.ceil((text.length - wide) / 4);
}
