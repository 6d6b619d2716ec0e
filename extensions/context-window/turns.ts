import type { AgentMessage } from "openclaw/plugin-sdk/core";

/** Messages that belong together: what a user wrote and all that followed it, with each tool call and its result. */
export interface Turn {
  readonly messages: readonly AgentMessage[];
  /** Estimated. */
  readonly tokens: number;
}

/**
 * Divides a conversation before each message of a user that follows an answer or a result. Several messages of users in a row
 * are one turn, because one answer belongs to all of them.
 */
export function wholeTurns(messages: readonly AgentMessage[]): readonly Turn[] {
  const starts = messages.flatMap(({ role }, at) =>
    at === 0 || (role === "user" && messages[at - 1]?.role !== "user") ? [at] : [],
  );
  return starts.map((start, index) => {
    const part = messages.slice(start, starts[index + 1]);
    return { messages: part, tokens: part.reduce((sum, message) => sum + tokensOf(message), 0) };
  });
}

const CHARACTERS_PER_TOKEN = 4;
const IMAGE_TOKENS = 1200;

/** A quarter of the characters; a script without spaces, such as Chinese, has about one token for each character. */
function tokensOf({ content }: AgentMessage): number {
  if (typeof content === "string") return textTokens(content);
  return content.reduce((sum, part) => sum + (part.type === "image" ? IMAGE_TOKENS : textTokens(textOf(part))), 0);
}

type Part = Exclude<AgentMessage["content"], string>[number];

function textOf(part: Exclude<Part, { type: "image" }>): string {
  if (part.type === "text") return part.text;
  return part.type === "thinking" ? part.thinking : part.name + JSON.stringify(part.arguments);
}

function textTokens(text: string): number {
  const wide = text.match(/[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}]/gu)?.length ?? 0;
  return Math.ceil((text.length - wide) / CHARACTERS_PER_TOKEN) + wide;
}
