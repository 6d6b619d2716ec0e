import { z } from "zod";

const block = z.looseObject({
  type: z.string(),
  text: z.string().optional(),
  name: z.string().optional(),
  arguments: z.unknown().optional(),
});

/** The parts of a transcript's message that are shown. */
export const messageShape = z.looseObject({
  role: z.string(),
  content: z.union([z.string(), z.array(block)]).default(""),
  timestamp: z.number().optional(),
  toolName: z.string().optional(),
});
export type ShownMessage = z.infer<typeof messageShape>;

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
