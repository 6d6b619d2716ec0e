import type { ChatMessage, ToolCallContent, ToolResultMessage } from "../../types/run/model.ts";
import { callsOf, hasCalls, interruptedResult } from "../parts.ts";

/** Puts the result of every call right after it, and removes results without a call. */
export function pairTools(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  if (isPaired(messages)) return messages;
  // The loop runs from the end, because a call's result is the next one after the call.
  const results = new Map<string, ToolResultMessage>();
  const paired = messages.toReversed().map((message): readonly ChatMessage[] => {
    if (message.role !== "toolResult")
      return [message, ...callsOf(message).map((call) => takeResult(results, call, message))];
    results.set(message.toolCallId, message);
    return [];
  });
  return paired.toReversed().flat();
}

function isPaired(messages: readonly ChatMessage[]): boolean {
  let open: readonly ToolCallContent[] = [];
  let answered = 0;
  for (const message of messages) {
    if (message.role === "toolResult") {
      const call = open[answered++];
      if (call?.id !== message.toolCallId || call.name !== message.toolName) return false;
    } else {
      if (answered !== open.length) return false;
      open = hasCalls(message) ? callsOf(message) : [];
      answered = 0;
    }
  }
  return answered === open.length;
}

function takeResult(
  results: Map<string, ToolResultMessage>,
  call: ToolCallContent,
  at: ChatMessage,
): ToolResultMessage {
  const found = results.get(call.id);
  if (!found) return interruptedResult(call, at.timestamp);
  results.delete(call.id);
  // Google pairs by name.
  return found.toolName === call.name ? found : { ...found, toolName: call.name };
}
