import { hasCalls, isBlank, textOf } from "../history/parts.ts";
import type { ChatMessage } from "../types/model.ts";
import type { RunRequest } from "./request.ts";

/** What a run is about, as far as it tells whether an answer is due. */
export type Asked = Pick<RunRequest, "facts" | "tools">;

/**
 * The model ended without a word though somebody waits for one. Behind a tool that did something, such as sending a
 * message, that may be meant; and a run of the gateway's own may well have nothing to say.
 */
export function isUnanswered(messages: readonly ChatMessage[], { facts, tools }: Asked): boolean {
  if (facts.trigger !== "message" && facts.trigger !== "api") return false;
  const last = messages.at(-1);
  if (last?.role !== "assistant" || hasCalls(last) || !isBlank(textOf(last))) return false;
  const since = messages.slice(messages.findLastIndex((message) => message.role === "user") + 1);
  return !since.some((message) => message.role === "toolResult" && !message.isError && acts(message.toolName, tools));
}

const acts = (name: string, tools: Asked["tools"]): boolean =>
  tools.some((tool) => tool.name === name && tool.hasSideEffects);
