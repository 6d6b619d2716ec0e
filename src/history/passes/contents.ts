import type { AssistantMessage, ChatMessage, ImageContent, TextContent } from "../../types/run/model.ts";
import { filterSame, isBlank, mapSame, withContent } from "../parts.ts";

type Seen = TextContent | ImageContent;

/**
 * Removes empty messages, empty blocks of text, and thinking at the end of an answer, because providers refuse these.
 */
export function fillContents(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  return filterSame(mapSame(messages, filled), (message) => message.role !== "assistant" || message.content.length > 0);
}

function filled(message: ChatMessage): ChatMessage {
  if (message.role === "assistant") return tidied(message);
  if (message.role === "toolResult") return withContent(message, nonEmpty(message.content, "(no output)"));
  if (typeof message.content === "string") return isBlank(message.content) ? { ...message, content: EMPTY } : message;
  const content = nonEmpty(message.content, EMPTY);
  return content === message.content ? message : { ...message, content: [...content] };
}

const EMPTY = "(empty message)";

function nonEmpty(content: readonly Seen[], otherwise: string): readonly Seen[] {
  const kept = filterSame(content, (part) => part.type === "image" || !isBlank(part.text));
  return kept.length > 0 ? kept : [{ type: "text", text: otherwise }];
}

function tidied(message: AssistantMessage): AssistantMessage {
  const kept = filterSame(message.content, (part) => part.type !== "text" || !isBlank(part.text));
  const end = kept.findLastIndex((part) => part.type !== "thinking") + 1;
  return withContent(message, end === kept.length ? kept : kept.slice(0, end));
}
