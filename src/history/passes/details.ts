import type { ChatMessage, ToolResultMessage } from "../../types/run/model.ts";
import { once } from "../../utils/share-calls.ts";
import { mapSame } from "../parts.ts";

/** Removes the details of tool results, which are for watchers and not for the model. */
export function stripDetails(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  return mapSame(messages, (message) =>
    message.role === "toolResult" && "details" in message ? withoutDetails(message) : message,
  );
}

const withoutDetails = once((message: ToolResultMessage): ToolResultMessage => {
  const { details: _details, ...rest } = message;
  return rest;
});
