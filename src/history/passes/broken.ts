import type { ChatMessage } from "../../types/run/model.ts";
import { asksForRest } from "../../types/run/turns.ts";
import { filterSame, isWhole, mapSame } from "../parts.ts";

/** Removes answers that ended in an error or an abort, and empty ones. The first part of an answer that was continued stays. */
export function dropBroken(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  const mended = mapSame(messages, (message, at) => (asksForRest(messages[at + 1]) ? firstPart(message) : message));
  return filterSame(mended, isSaid);
}

function firstPart(message: ChatMessage): ChatMessage {
  if (message.role !== "assistant" || message.stopReason !== "error") return message;
  const { errorMessage: _, ...rest } = message;
  return { ...rest, content: message.content.filter((part) => part.type === "text"), stopReason: "length" };
}

const isSaid = (message: ChatMessage): boolean =>
  message.role !== "assistant" || (isWhole(message) && message.content.length > 0);
