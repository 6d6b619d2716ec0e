import type { AssistantMessage, ChatMessage, ToolResultMessage, UserMessage } from "../src/types/run/model.ts";
import { emptyUsage } from "../src/types/run/usage.ts";

/** Makers of messages with rising times, as a transcript has them. */

let time = 1_700_000_000_000;
export const user = (text: string, more: Partial<UserMessage> = {}): UserMessage => ({
  role: "user",
  content: text,
  timestamp: (time += 1),
  ...more,
});
export const answer = (text: string, ...calls: string[]): AssistantMessage => ({
  role: "assistant",
  content: [
    { type: "text", text },
    ...calls.map((id) => ({ type: "toolCall" as const, id, name: "read", arguments: { path: id } })),
  ],
  api: "anthropic-messages",
  provider: "anthropic",
  model: "claude-sonnet-4-5",
  usage: emptyUsage(),
  stopReason: calls.length > 0 ? "toolUse" : "stop",
  timestamp: (time += 1),
});
export const result = (id: string, text: string): ToolResultMessage => ({
  role: "toolResult",
  toolCallId: id,
  toolName: "read",
  content: [{ type: "text", text }],
  isError: false,
  timestamp: (time += 1),
});

/** Earlier turns: a question and an answer each. */
export const turns = (count: number, words = "word"): ChatMessage[] =>
  Array.from({ length: count }, (_, at) => [user(`question ${at} ${words}`), answer(`reply ${at} ${words}`)]).flat();

export const textOf = ({ content }: ChatMessage): string =>
  typeof content === "string"
    ? content
    : content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
