import type { ChatMessage } from "../../../types/run/model.ts";
import type { InputPlaces } from "../identify.ts";

/**
 * Removes the current turn's messages from an engine's answer and appends the turn itself. So the model sees the turn once,
 * complete and last, whether the answer contains it or not. `places`: for each message of the answer its index in the turn.
 */
export function withTurn(
  answer: readonly ChatMessage[],
  turn: readonly ChatMessage[],
  places: InputPlaces,
): readonly ChatMessage[] {
  return [...answer.filter((_, at) => places[at] === undefined), ...turn];
}

/**
 * Used in a tool loop, where an engine may shorten the turn. Keeps the engine's summaries and shortened results, adds the user's
 * messages and the step that the model has not answered if they are missing, and puts that step last.
 */
export function withTurnKept(
  answer: readonly ChatMessage[],
  turn: readonly ChatMessage[],
  places: InputPlaces,
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

/** Index of the model's last message, whose tool results follow it, or of the last user message. */
function lastStepOf(turn: readonly ChatMessage[]): number {
  return Math.max(
    0,
    turn.findLastIndex((message) => message.role !== "toolResult"),
  );
}
