import { z } from "zod";
import type { AssistantMessage, ChatMessage, ImageContent, TextContent } from "../../types/run/model.ts";
import { emptyUsage } from "../../types/run/usage.ts";
import type { ApiMessage, Content, ToolCall } from "./request.ts";

/** The messages with which a stateless run begins. */
export interface Seed {
  readonly system?: string;
  readonly messages: readonly ChatMessage[];
}

/** The request's messages as a transcript; system and developer messages become one system text. */
export function seedFrom(messages: readonly ApiMessage[], now: number): Seed {
  const rules = messages.filter((item) => item.role === "system" || item.role === "developer");
  const system = rules.map((item) => textOf(item.content ?? "")).join("\n\n");
  const toolNames = new Map(
    messages.flatMap((item) => (item.role === "assistant" ? (item.tool_calls ?? []) : [])).map(nameById),
  );
  const turns = messages.flatMap((item) => toMessage(item, toolNames, now));
  return system === "" ? { messages: turns } : { system, messages: turns };
}

const nameById = (call: ToolCall): [string, string] => [call.id, call.function.name];

function toMessage(item: ApiMessage, toolNames: ReadonlyMap<string, string>, timestamp: number): ChatMessage[] {
  switch (item.role) {
    case "user":
      return [{ role: "user", content: contentOf(item.content), timestamp }];
    case "assistant":
      return [assistant(textOf(item.content ?? ""), item.tool_calls ?? [], timestamp)];
    case "tool": {
      const toolName = toolNames.get(item.tool_call_id) ?? "unknown";
      const result = [{ type: "text" as const, text: textOf(item.content) }];
      return [
        { role: "toolResult", toolCallId: item.tool_call_id, toolName, content: result, isError: false, timestamp },
      ];
    }
    case "system":
    case "developer":
      return [];
  }
}

function assistant(text: string, calls: readonly ToolCall[], timestamp: number): AssistantMessage {
  const said = text === "" ? [] : [{ type: "text" as const, text }];
  const toolCalls = calls.map((call) => ({
    type: "toolCall" as const,
    id: call.id,
    name: call.function.name,
    arguments: argumentsOf(call.function.arguments),
  }));
  const stopReason = calls.length === 0 ? "stop" : "toolUse";
  const origin = { api: "openai-completions", provider: "openclaw", model: "openclaw" };
  return {
    role: "assistant",
    content: [...said, ...toolCalls],
    ...origin,
    usage: emptyUsage(),
    stopReason,
    timestamp,
  };
}

const jsonObject = z.record(z.string(), z.unknown());

function argumentsOf(text: string): Record<string, unknown> {
  try {
    return jsonObject.safeParse(JSON.parse(text)).data ?? {};
  } catch {
    // Broken arguments of a model are kept as text.
    return { raw: text };
  }
}

export function textOf(content: Content): string {
  if (typeof content === "string") return content;
  return content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
}

function contentOf(content: Content): string | (TextContent | ImageContent)[] {
  if (typeof content === "string") return content;
  return content.map((part) =>
    part.type === "text" ? { type: "text", text: part.text } : imageOf(part.image_url.url),
  );
}

/** A data URL as an image; `parseCompletion` refuses all other URLs. */
function imageOf(url: string): ImageContent {
  const comma = url.indexOf(",");
  return { type: "image", data: url.slice(comma + 1), mimeType: url.slice(5, url.indexOf(";")) };
}
