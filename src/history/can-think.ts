import type { TranscriptPolicy } from "../providers/quirks.ts";
import type { ChatMessage } from "../types/run/model.ts";
import { hasCalls } from "./parts.ts";

/**
 * Whether the model may be asked to think. Anthropic refuses that when tool results belong to an answer that did not begin with
 * thinking of its own, as after a change of model between a call and its result.
 */
export function canThink(messages: readonly ChatMessage[], { ownThinking }: TranscriptPolicy): boolean {
  if (ownThinking !== "signed") return true;
  const last = messages.findLast((message) => message.role === "assistant");
  return last?.role !== "assistant" || !hasCalls(last) || last.content[0]?.type === "thinking";
}
