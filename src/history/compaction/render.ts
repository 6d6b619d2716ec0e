import type { ChatMessage } from "../../types/run/model.ts";
import { shorten } from "../../utils/text/shorten.ts";

/** UTF-16 units of a tool's result that the summarizing model gets. */
const MOST_RESULT_CHARS = 2000;

/** A tool's result with its middle cut out; every other message as it is. */
export function shortenResult(message: ChatMessage): ChatMessage {
  if (message.role !== "toolResult") return message;
  const text = renderedText(message);
  if (text.length <= MOST_RESULT_CHARS) return message;
  return { ...message, content: [{ type: "text", text: shorten(text, MOST_RESULT_CHARS) }] };
}

/** A message as the summarizing model gets it, without thinking. */
export function renderMessage(message: ChatMessage): string {
  if (message.role === "toolResult") {
    const failed = message.isError ? ", failed" : "";
    return `[result of ${message.toolName}${failed}]\n${renderedText(message)}`;
  }
  const calls =
    message.role === "assistant"
      ? message.content.flatMap((part) =>
          part.type === "toolCall" ? [`[calls ${part.name}] ${JSON.stringify(part.arguments)}`] : [],
        )
      : [];
  return [`[${message.role}]`, renderedText(message), ...calls].filter((line) => line !== "").join("\n");
}

/** The text of a message; images are named. */
export function renderedText(message: ChatMessage): string {
  if (typeof message.content === "string") return message.content;
  return message.content
    .flatMap((part) => {
      if (part.type === "text") return [part.text];
      return part.type === "image" ? ["[image]"] : [];
    })
    .join("\n");
}
