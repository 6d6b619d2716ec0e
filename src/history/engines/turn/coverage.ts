import type { ChatMessage } from "../../../types/run/model.ts";
import type { Places } from "../identify.ts";

/**
 * Puts the present turn at the end. An engine may return messages of the present turn or leave them out; either way the model
 * sees the turn once, whole and last. `places`: for each message of the answer, the message of the turn that it is.
 */
export function withTurn(
  answer: readonly ChatMessage[],
  turn: readonly ChatMessage[],
  places: Places,
): readonly ChatMessage[] {
  return [...answer.filter((_, at) => places[at] === undefined), ...turn];
}

/**
 * Puts the rest of a turn after the engine's version of it. In a tool loop an engine may shorten the turn, so its summaries and
 * shortened results stay. What the user wrote, and what the model has not answered yet, always stays, and nothing follows it.
 */
export function withTurnKept(
  answer: readonly ChatMessage[],
  turn: readonly ChatMessage[],
  places: Places,
): readonly ChatMessage[] {
  const placed = new Set(places);
  const open = lastStepOf(turn);
  if (turn.some((_, at) => at >= open && !placed.has(at))) return withTurn(answer, turn, places);
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
