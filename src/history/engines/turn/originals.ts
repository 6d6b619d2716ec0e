import type { ChatMessage } from "../../../types/run/model.ts";
import { isFields } from "../../../utils/fields.ts";
import type { Places } from "../identify.ts";

/**
 * Restores what an engine did not change. The engine's own text for a message stays; all other fields are as the host gave
 * them, such as where a turn came from, or that an answer was cut off. `raw` is the engine's answer, `places` gives for each
 * message the one of `given` that it is.
 */
export function withOriginals(
  answer: readonly ChatMessage[],
  raw: readonly unknown[],
  given: readonly ChatMessage[],
  places: Places,
): ChatMessage[] {
  return answer.map((message, at) => restored(message, given[places[at] ?? -1], raw[at]));
}

function restored(message: ChatMessage, original: ChatMessage | undefined, raw: unknown): ChatMessage {
  if (!original) return message;
  // An unchanged message is not read again: a transcript of another program may contain what only the passes can repair.
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
    // A value that is no JSON, such as a cycle, is not one that the engine got.
    return false;
  }
}
