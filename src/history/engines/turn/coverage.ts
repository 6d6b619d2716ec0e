import type { ChatMessage } from "../../../types/run/model.ts";
import type { Places } from "../identify.ts";

/**
 * An engine may or may not say again what belongs to the present turn. Either way the model sees that turn once, whole and
 * last: what the engine says of it is taken out, and the turn itself put behind the rest. `places`: which message of the turn
 * each message of the answer is.
 */
export function withTurn(
  answer: readonly ChatMessage[],
  turn: readonly ChatMessage[],
  places: Places,
): readonly ChatMessage[] {
  return [...answer.filter((_, at) => places[at] === undefined), ...turn];
}

/**
 * In a tool loop an engine may shorten the turn: its summaries and cut results stay. What the user wrote is never left out,
 * nor is what the model has not answered yet, and nothing stands behind that.
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
