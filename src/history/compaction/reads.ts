import type { ChatMessage } from "../../types/run/model.ts";
import { callsOf } from "../parts.ts";

/** The paths of `read` calls whose results are in these messages, as the model wrote the paths, without repetition. */
export function readFilesIn(messages: readonly ChatMessage[]): readonly string[] {
  const asked = new Map<string, string>();
  const shown = new Set<string>();
  for (const message of messages) {
    for (const { id, name, arguments: given } of callsOf(message)) {
      const { path } = given;
      if (name === "read" && typeof path === "string") asked.set(id, path);
    }
    if (message.role !== "toolResult" || message.isError) continue;
    const path = message.toolName === "read" ? asked.get(message.toolCallId) : undefined;
    if (path !== undefined) shown.add(path);
  }
  return [...shown];
}
