import type { ShownMessage } from "../../../../types/session.ts";

/** The text of a message; tool calls and images as a short line each. */
export function messageText({ content, toolName }: ShownMessage): string {
  if (typeof content === "string") return content;
  const lines = content.flatMap((part) => {
    if (part.type === "text") return part.text ?? [];
    if (part.type === "toolCall") return `[${part.name ?? "tool"} ${JSON.stringify(part.arguments ?? {})}]`;
    return part.type === "image" ? "[image]" : [];
  });
  return [...(toolName === undefined ? [] : [`[${toolName}]`]), ...lines].join("\n");
}
