import { retryWhileDiskFull } from "../../store/retry-while-disk-full.ts";
import type { InboxRow, Outcome } from "../../types/journal.ts";
import { leaveUnanswered } from "../notices/acks.ts";
import { TOO_MANY_STARTS, tooManyStarts } from "../notices/chat-texts.ts";
import { abandonTurn } from "../notices/unanswered-turns.ts";
import { leftTurnStateOf, type LeftTurnState } from "../resume/left-turn.ts";
import { turnIdOf } from "../turn-facts.ts";
import type { TurnPorts } from "../turn/ports.ts";
import type { StageEnd, Turn } from "../turn/turn.ts";

/** Ends a turn that an earlier process finished but for its outcome, or tried too often. */
export async function conclude(turn: Turn, ports: TurnPorts): Promise<StageEnd> {
  const { head, queued } = turn;
  const found = await leftTurnStateOf({ head, rows: queued.rows }, turn.get("session"), ports.storage.journal);
  if (found.kind === "fresh" || found.kind === "underway") return "next";
  if (found.kind === "answered") await endAsFound(turn, found, ports);
  else await giveUp(turn, ports);
  return "over";
}

async function endAsFound(
  { queued: { rows, log } }: Turn,
  { outcome, result }: Extract<LeftTurnState, { kind: "answered" }>,
  ports: TurnPorts,
): Promise<void> {
  const { inbox } = ports.storage.journal;
  const ids = rows.map(({ id }) => id);
  ports.shared.replies.endLog(log, result);
  const finish = () => (outcome.kind === "merged" ? inbox.finish(ids, outcome) : inbox.finishTurn(ids, outcome));
  await retryWhileDiskFull("outcome", finish, ports);
  endSigns(rows, outcome, ports);
}

async function giveUp(turn: Turn, ports: TurnPorts): Promise<void> {
  const { rows, log } = turn.queued;
  const session = turn.get("session");
  const [first] = rows;
  if (!first) return;
  // The turn is left out first: a message that crashes the process must not join the next turn, even if this process is
  // killed now.
  await abandonTurn(session, turnIdOf(first), ports.log);
  const { givenUp } = ports.kinds.of(first.message);
  await givenUp?.keep(
    rows.map(({ message }) => message),
    session,
  );
  await ports.shared.replies.refuse(rows, log, givenUp?.notice ?? tooManyStarts(rows.length), TOO_MANY_STARTS);
}

/**
 * Ends the signs that a chat was shown while its messages had no outcome. An answer belongs to the first message of its
 * turn.
 */
export function endSigns(
  rows: readonly InboxRow[],
  outcome: Outcome,
  ports: Pick<TurnPorts, "chats" | "log" | "shared">,
): void {
  ports.shared.replies.acks.end(rows);
  const isUnanswered = outcome.kind === "silent" || outcome.kind === "aborted" || outcome.kind === "merged";
  leaveUnanswered(isUnanswered ? rows : rows.slice(1), ports);
}
