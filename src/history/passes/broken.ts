import type { ChatMessage } from "../../types/model.ts";
import { filterSame } from "../parts.ts";

/** Answers that ended in an error or an abort, and empty ones, are no part of what was said. */
export function dropBroken(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  return filterSame(messages, isWhole);
}

function isWhole(message: ChatMessage): boolean {
  if (message.role !== "assistant") return true;
  return message.stopReason !== "error" && message.stopReason !== "aborted" && message.content.length > 0;
}
