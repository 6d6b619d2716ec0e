import type { DisplayedTurn } from "./view.ts";

/** An act of a person on one turn. */
export type TurnAct = "copy" | "retry" | "edit" | "branch" | "facts";

/** The text of a turn as Markdown. */
export const markdownOf = (turn: DisplayedTurn): string => textPartsOf(turn).join("\n\n").trim();

/** The texts of a turn, each of them Markdown. */
export const textPartsOf = ({ parts }: DisplayedTurn): readonly string[] =>
  parts.flatMap((part) => (part.kind === "text" ? [part.text] : []));

/** What a person sees of one act depends on these methods of the gateway. */
const NEEDED: Readonly<Record<TurnAct, readonly string[]>> = {
  copy: [],
  retry: ["sessions.rewind"],
  edit: ["sessions.rewind"],
  branch: ["sessions.fork", "sessions.create"],
  facts: ["runs.get", "runs.prompt"],
};

/** The acts that are offered for each of the turns of a conversation from a place on, in their order. */
export function turnActsOf(
  turns: readonly DisplayedTurn[],
  methods: readonly string[],
  from: number,
): readonly (readonly TurnAct[])[] {
  const answered = answeredLast(turns);
  const ORDER: readonly TurnAct[] = ["copy", "edit", "retry", "branch", "facts"];
  const fits: Readonly<Record<TurnAct, (turn: DisplayedTurn) => boolean>> = {
    copy: (turn) => turn.live !== true && markdownOf(turn) !== "",
    edit: isOwn,
    retry: (turn) => answered !== undefined && turn === turns.at(-1),
    branch: (turn) => isSaid(turn) || (turn.role === "assistant" && turn.messageIds[0] !== undefined),
    facts: (turn) => turn.role === "assistant" && turn.live !== true && turn.runIds.length > 0,
  };
  const offered = ORDER.filter((act) => NEEDED[act].every((method) => methods.includes(method)));
  return turns.slice(from).map((turn) => offered.filter((act) => fits[act](turn)));
}

/** The person's turn to which the last turn is the finished answer; undefined when that is not the operator's own. */
export function answeredLast(turns: readonly DisplayedTurn[]): DisplayedTurn | undefined {
  const last = turns.at(-1);
  if (last?.role !== "assistant" || last.live === true) return undefined;
  const said = turns.findLast(({ role }) => role === "user");
  return said !== undefined && isOwn(said) ? said : undefined;
}

/** The operator's last message; one that is not in the transcript yet has no entry. */
export const lastOwn = (turns: readonly DisplayedTurn[]): DisplayedTurn | undefined =>
  turns.findLast((turn) => isWords(turn) && turn.sender === undefined);

/** Whether a person wrote it to the agent; a command is no turn. */
const isWords = ({ role, parts: [first] }: DisplayedTurn): boolean =>
  role === "user" && !(first?.kind === "text" && first.text.startsWith("/"));

/** A message of a person that the transcript has as a turn. */
const isSaid = (turn: DisplayedTurn): boolean => isWords(turn) && turn.messageIds[0] !== undefined;

const isOwn = (turn: DisplayedTurn): boolean => isSaid(turn) && turn.sender === undefined;

/**
 * The entry before which a copy of the conversation ends, so that this turn is its last one, or comes back into the box when a
 * person said it; undefined when the copy has everything.
 */
export function copyEnd(turns: readonly DisplayedTurn[], turn: DisplayedTurn): string | undefined {
  if (turn.role === "user") return turn.messageIds[0];
  return turns.slice(turns.findIndex(({ id }) => id === turn.id) + 1).find(isSaid)?.messageIds[0];
}
