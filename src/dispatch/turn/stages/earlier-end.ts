import { progressOf } from "../../../harness/run/resume.ts";
import type { InboxRow, Outcome } from "../../../types/journal.ts";
import type { Session } from "../../../types/session.ts";
import { abandonTurn } from "../../notices/unanswered-turns.ts";
import type { QueuedTurn } from "../../queue/lane-task.ts";
import { endLog } from "../../notices/chat-notices.ts";
import type { TurnPorts } from "../ports.ts";
import type { Turn, StageEnd } from "../turn.ts";
import { NOTICE } from "../../answer/reply-names.ts";
import { runIdOf, turnIdOf } from "../../turn-facts.ts";
import { leaveUnanswered } from "../../notices/acks.ts";
import { TOO_MANY_STARTS, tooManyStarts } from "../../notices/chat-texts.ts";
import { retryWhileDiskFull } from "../../../store/retry-while-disk-full.ts";

/** Processes that may try a message: one that crashes the process each time must not do so for ever. */
const MOST_STARTS = 3;

/**
 * Ends a turn that an earlier process finished but for its outcome, or that too many processes have tried. True when it
 * has ended.
 */
export async function endAsBefore(turn: Turn, ports: TurnPorts): Promise<boolean> {
  const { head, queued } = turn;
  const [first] = queued.rows;
  if (!first || first.attempts === 0) return false;
  if (head && head !== first && (await wasAnsweredWith(head, queued, ports))) return true;
  return (await wasToldOfFailure(queued, first, ports)) || (await wasTriedTooOften(queued, turn.get("session"), ports));
}

/** An answer's reply key names the first message of its turn, even if that message was dropped since. */
async function wasAnsweredWith(head: InboxRow, { rows, log }: QueuedTurn, ports: TurnPorts): Promise<boolean> {
  if ((await ports.journal.outbox.of(head.id)).length === 0) return false;
  if (log) endLog(log, { kind: "replied", stop: "stop" }, ports.clock.now());
  const ids = rows.map(({ id }) => id);
  await retryWhileDiskFull("outcome", () => ports.journal.inbox.finish(ids, { kind: "merged", into: head.id }), ports);
  ports.replies.acks.end(rows);
  leaveUnanswered(rows, ports);
  return true;
}

/** A sender who was told that there is no answer must not get one later. Only the row's outcome is missing. */
async function wasToldOfFailure(queued: QueuedTurn, first: InboxRow, ports: TurnPorts): Promise<boolean> {
  const { outbox, runs } = ports.journal;
  const notice = new RegExp(`^in:${first.id}(?::again\\d+)?:(?:${NOTICE}|error)$`);
  if (!(await outbox.of(first.id)).some(({ replyKey }) => notice.test(replyKey))) return false;
  const record = await runs.find(runIdOf(first));
  const how = record?.result.startsWith("failed:") === true ? record.result.slice("failed:".length) : "failed";
  const why = `${how}: its chat was informed before a restart`;
  const { log, rows } = queued;
  if (log) endLog(log, { kind: "failed", failure: { kind: "unknown", message: why } }, ports.clock.now());
  await finishRows(rows, { kind: "failed", why }, ports);
  return true;
}

/** An answer that is already complete is still delivered, since no model is asked for it. */
async function wasTriedTooOften({ rows, log }: QueuedTurn, session: Session, ports: TurnPorts): Promise<boolean> {
  const [first] = rows;
  if (!first || first.attempts < MOST_STARTS) return false;
  if ((await progressOf(session, turnIdOf(first))).kind === "finished") return false;
  // First: a message that crashes the process must not join the next turn, even if this process is killed now.
  await abandonTurn(session, turnIdOf(first), ports.log);
  const { givenUp } = ports.kinds.of(first.message);
  await givenUp?.keep(
    rows.map(({ message }) => message),
    session,
  );
  await ports.replies.refuse(rows, log, givenUp?.notice ?? tooManyStarts(rows.length), TOO_MANY_STARTS);
  return true;
}

/** Ends the rows of a turn together: the first with the outcome, the others as merged into it. */
async function finishRows(
  rows: readonly InboxRow[],
  outcome: Outcome,
  ports: Pick<TurnPorts, "journal" | "clock" | "log" | "link" | "replies">,
): Promise<void> {
  const ids = rows.map((row) => row.id);
  await retryWhileDiskFull("outcome", () => ports.journal.inbox.finishTurn(ids, outcome), ports);
  ended(rows, outcome, ports);
}

/** Ends what a chat was shown while its messages had no outcome. An answer belongs to the first message of its turn. */
export function ended(
  rows: readonly InboxRow[],
  outcome: Outcome,
  ports: Pick<TurnPorts, "link" | "log" | "replies">,
): void {
  ports.replies.acks.end(rows);
  const isUnanswered = outcome.kind === "silent" || outcome.kind === "aborted";
  leaveUnanswered(isUnanswered ? rows : rows.slice(1), ports);
}

/** Ends a message that is now part of a running turn. Never rejects: as its own turn it would be answered twice. */
export async function finishSteered(
  { id }: InboxRow,
  ports: Pick<TurnPorts, "journal" | "clock" | "log">,
): Promise<void> {
  try {
    await retryWhileDiskFull("outcome", () => ports.journal.inbox.finish([id], { kind: "steered" }), ports);
  } catch (error) {
    // The next start sees it in the transcript.
    ports.log.error("outcome of a steered message not recorded", { inbox: id, error });
  }
}

/** Ends a turn that an earlier process finished but for its outcome, or tried too often. */
export async function adopt(turn: Turn, ports: TurnPorts): Promise<StageEnd> {
  return (await endAsBefore(turn, ports)) ? "over" : "next";
}
