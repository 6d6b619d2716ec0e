import type { ChatMessage } from "../../types/model.ts";
import { callsOf, textOf } from "../parts.ts";

/**
 * An engine may or may not say again what belongs to the present turn. Either way the model sees that turn once, whole and
 * last: what the engine says of it is taken out, and the turn itself put behind the rest.
 */
export function withTurn(answer: readonly ChatMessage[], turn: readonly ChatMessage[]): ChatMessage[] {
  const places = placesOf(answer, turn);
  return [...answer.filter((_, at) => places[at] === undefined), ...turn];
}

/**
 * In a tool loop an engine may shorten the turn: its summaries and cut results stay. What the user wrote is never left out,
 * nor is what the model has not answered yet, and nothing stands behind that.
 */
export function withTurnKept(answer: readonly ChatMessage[], turn: readonly ChatMessage[]): ChatMessage[] {
  const places = placesOf(answer, turn);
  const placed = new Set(places);
  const open = lastStepOf(turn);
  if (turn.some((_, at) => at >= open && !placed.has(at))) return withTurn(answer, turn);
  const lost = turn.flatMap((message, at) => (message.role === "user" && !placed.has(at) ? [at] : []));
  const shown = answer.map((message, at) => ({ message, place: places[at] }));
  return [
    ...shown.filter(({ place = -1 }) => place < open),
    ...shown.filter(({ place = -1 }) => place >= open),
  ].flatMap(({ message, place = -1 }) => {
    const due = lost.splice(0, lost.filter((one) => one < place).length);
    const original = message.role === "toolResult" ? message : (turn[place] ?? message);
    return [...due.flatMap((one) => turn[one] ?? []), original];
  });
}

/** Where the last answer with its results, or the last user turn, begins. */
function lastStepOf(turn: readonly ChatMessage[]): number {
  return Math.max(
    0,
    turn.findLastIndex((message) => message.role !== "toolResult"),
  );
}

/** For each message of the answer: which message of the turn it is. Order is kept on both sides, the last ones first. */
export function placesOf(
  answer: readonly ChatMessage[],
  turn: readonly ChatMessage[],
): readonly (number | undefined)[] {
  const keys = turn.map(keyOf);
  let last = turn.length;
  return answer
    .toReversed()
    .map((message) => {
      const place = last === 0 ? -1 : keys.lastIndexOf(keyOf(message), last - 1);
      if (place === -1) return undefined;
      last = place;
      return place;
    })
    .toReversed();
}

/** What a message is known by, also after an engine has stored it in its own way. */
export function keyOf(message: ChatMessage): string {
  if (message.role === "toolResult") return `result ${message.toolCallId}`;
  if (message.role === "user") return `user ${userTextOf(message.content)}`;
  const calls = callsOf(message).map((call) => call.id);
  return `assistant ${calls.join(" ")} ${textOf(message).trim()}`;
}

function userTextOf(content: Extract<ChatMessage, { role: "user" }>["content"]): string {
  if (typeof content === "string") return content.trim();
  return content
    .flatMap((part) => (part.type === "text" ? [part.text] : []))
    .join("\n")
    .trim();
}
