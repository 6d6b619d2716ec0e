import type { ChatMessage } from "../../../types/run/model.ts";
import { isFields } from "../../../utils/fields.ts";
import type { Places } from "../identify.ts";

/**
 * An engine keeps of a message what it knows of: its own words for it stay, and all else is as the host told it, such as
 * where a turn came from, or that an answer broke off. `raw` is the answer as it was given, `places` which of `told` each
 * message is.
 */
export function withOriginals(
  answer: readonly ChatMessage[],
  raw: readonly unknown[],
  told: readonly ChatMessage[],
  places: Places,
): ChatMessage[] {
  return answer.map((message, at) => restored(message, told[places[at] ?? -1], raw[at]));
}

function restored(message: ChatMessage, original: ChatMessage | undefined, raw: unknown): ChatMessage {
  if (!original) return message;
  // What it did not touch is not read anew: a transcript of other programs may hold what only the passes can mend.
  if (isFields(raw) && isSame(raw["content"], original.content)) return original;
  if (message.role === "user" && original.role === "user") return { ...original, content: message.content };
  if (message.role === "assistant" && original.role === "assistant") return { ...original, content: message.content };
  if (message.role !== "toolResult" || original.role !== "toolResult") return message;
  return { ...original, content: message.content, isError: message.isError };
}

function isSame(one: unknown, other: unknown): boolean {
  try {
    return JSON.stringify(one) === JSON.stringify(other);
  } catch {
    // What is no JSON, such as a circle, is nothing that it was told.
    return false;
  }
}
