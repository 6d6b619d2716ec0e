import type { ChatMessage } from "../../types/model.ts";
import { mapSame } from "../parts.ts";

/** What a tool tells its watchers is not for the model. */
export function stripDetails(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  return mapSame(messages, (message) => {
    if (message.role !== "toolResult" || !("details" in message)) return message;
    const { details: _details, ...rest } = message;
    return rest;
  });
}
