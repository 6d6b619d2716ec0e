import { progressOf } from "../harness/resume.ts";
import type { InboxRow, Outcome } from "../types/journal.ts";
import type { Session } from "../types/session.ts";
import { leaveBehind } from "./orphans.ts";
import type { Waiting } from "./ports.ts";
import { endLog } from "./replies.ts";
import type { RunnerPorts } from "./runner-ports.ts";
import { runIdOf, turnIdOf } from "./turn.ts";
import { leaveUnanswered } from "./unanswered.ts";
import { TOO_MANY_STARTS } from "./words.ts";
import { whenRoom } from "./when-room.ts";

/** Boots that may try a message; a message that takes the process down each time must not do so for ever. */
const MOST_STARTS = 3;

/** Ends a turn that an earlier boot has brought to its end but for the outcome, or that too many have tried. True when it is over. */
export async function endAsBefore(waiting: Waiting, session: Session, ports: RunnerPorts): Promise<boolean> {
  const [first] = waiting.rows;
  if (!first || first.attempts === 0) return false;
  return (await wasToldOfFailure(waiting, first, ports)) || (await wasTriedTooOften(waiting, session, ports));
}

/** Somebody who was told that there is no answer is not to get one: the row may only lack its outcome. */
async function wasToldOfFailure(waiting: Waiting, first: InboxRow, ports: RunnerPorts): Promise<boolean> {
  const { outbox, runs } = ports.journal;
  const notice = new RegExp(`^in:${first.id}(?::again\\d+)?:${NOTICE}$`);
  if (!(await outbox.of(first.id)).some(({ replyKey }) => notice.test(replyKey))) return false;
  const record = await runs.find(runIdOf(first));
  const how = record?.result.startsWith("failed:") === true ? record.result.slice("failed:".length) : "failed";
  const why = `${how}: its chat was told before a restart`;
  const { log, rows } = waiting;
  if (log) endLog(log, { kind: "failed", failure: { kind: "unknown", message: why } }, ports.clock.now());
  await finishRows(rows, { kind: "failed", why }, ports);
  return true;
}

/** Names the notice that stands in for an answer. */
export const NOTICE = "notice";

/** An answer that is there already is brought all the same: the model is not asked for it. */
async function wasTriedTooOften({ rows, log }: Waiting, session: Session, ports: RunnerPorts): Promise<boolean> {
  const [first] = rows;
  if (!first || first.attempts < MOST_STARTS) return false;
  if ((await progressOf(session, turnIdOf(first))).kind === "finished") return false;
  await ports.replies.refuse(rows, log, TOO_MANY_STARTS);
  await leaveBehind(session, turnIdOf(first), ports.log);
  return true;
}

/** The rows of a turn end together: the first with the outcome, the others with the first. */
export async function finishRows(
  rows: readonly InboxRow[],
  outcome: Outcome,
  ports: Pick<RunnerPorts, "journal" | "clock" | "log" | "link" | "replies">,
): Promise<void> {
  const [first, ...merged] = rows.map((row) => row.id);
  if (first === undefined) return;
  const { inbox } = ports.journal;
  // What is written in one tick is written whole or not at all.
  const finish = () =>
    Promise.all([
      inbox.finish([first], outcome),
      merged.length > 0 && inbox.finish(merged, { kind: "merged", into: first }),
    ]);
  await whenRoom(finish, ports);
  ports.replies.acks.end(rows);
  if (outcome.kind === "silent" || outcome.kind === "aborted") leaveUnanswered(rows, ports);
}
