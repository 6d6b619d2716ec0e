import type { AssistantMessage, ToolResultMessage, UserMessage } from "../../src/types/run/model.ts";
import { emptyUsage } from "../../src/types/run/usage.ts";

const part = (text: string) => ({ type: "text" as const, text });

/** What a person said, as a transcript holds it. */
export const asked = (content: UserMessage["content"]): UserMessage => ({ role: "user", content, timestamp: 1 });

/** What a model answered. `more` is for what a test is about. */
export const answered = (
  content: string | AssistantMessage["content"],
  more: Partial<AssistantMessage> = {},
): AssistantMessage => ({
  role: "assistant",
  content: typeof content === "string" ? [part(content)] : content,
  api: "openai-completions",
  provider: "fake",
  model: "fake-1",
  usage: emptyUsage(),
  stopReason: "stop",
  timestamp: 2,
  ...more,
});

/** A call of a tool, a part of an answer. */
export const called = (id: string, name = "read") => ({ type: "toolCall" as const, id, name, arguments: {} });

/** What a tool gave back for that call. */
export const given = (
  toolCallId: string,
  content: string | ToolResultMessage["content"],
  more: Partial<ToolResultMessage> = {},
): ToolResultMessage => ({
  role: "toolResult",
  toolCallId,
  toolName: "read",
  content: typeof content === "string" ? [part(content)] : content,
  isError: false,
  timestamp: 3,
  ...more,
});
