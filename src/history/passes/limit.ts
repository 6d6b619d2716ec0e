import type { ChatMessage } from "../../types/run/model.ts";
import { beginsTurn } from "../../types/run/turns.ts";

/** The messages from the user turn on that is followed by this many; all messages when there are fewer. */
export function limitTurns(messages: readonly ChatMessage[], earlierTurns: number | undefined): readonly ChatMessage[] {
  if (earlierTurns === undefined || earlierTurns === 0) return messages;
  const starts = messages.flatMap((message, index) => (isTurnStart(message, messages[index - 1]) ? [index] : []));
  const start = starts.at(-1 - earlierTurns) ?? 0;
  return start === 0 ? messages : messages.slice(start);
}

/** Consecutive user messages are one turn. */
const isTurnStart = (message: ChatMessage, before: ChatMessage | undefined): boolean =>
  beginsTurn(message) && (before === undefined || !beginsTurn(before));
