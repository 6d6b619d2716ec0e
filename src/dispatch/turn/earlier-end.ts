import { progressOf } from "../../harness/resume.ts";
import type { InboxRow, Outcome } from "../../types/journal.ts";
import type { Session } from "../../types/session.ts";
import { leaveBehind } from "../recovery/unanswered-turns.ts";
import type { Waiting } from "../ports.ts";
import { endLog } from "../replies.ts";
import type { RunnerPorts } from "./ports.ts";
import { runIdOf, turnIdOf } from "./prepare.ts";
import { leaveUnanswered } from "../signals/unanswered.ts";
import { TOO_MANY_STARTS } from "../words.ts";
import { whenRoom } from "../retry-while-disk-full.ts";

/** Boots that may try a message; a message that takes the process down each time must not do so for ever. */
const MOST_STARTS = 3;

/**
 * Ends a turn that an earlier boot has brought to its end but for the outcome, or that too many have tried. True when it
 * is over. `head`: the row that the turn began with, which may have ended since.
 */
export async function endAsBefore(
  waiting: Waiting,
  session: Session,
  ports: RunnerPorts & { readonly head: InboxRow | undefined },
): Promise<boolean> {
  const [first] = waiting.rows;
  const { head } = ports;
  if (!first || first.attempts === 0) return false;
  if (head && head !== first && (await wasAnsweredWith(head, waiting, ports))) return true;
  return (await wasToldOfFailure(waiting, first, ports)) || (await wasTriedTooOften(waiting, session, ports));
}

/** What is planned of an answer goes out under the name of its turn's first message, also when that was dropped since. */
async function wasAnsweredWith(head: InboxRow, { rows, log }: Waiting, ports: RunnerPorts): Promise<boolean> {
  if ((await ports.journal.outbox.of(head.id)).length === 0) return false;
  if (log) endLog(log, { kind: "replied", stop: "stop" }, ports.clock.now());
  const ids = rows.map(({ id }) => id);
  await whenRoom(() => ports.journal.inbox.finish(ids, { kind: "merged", into: head.id }), ports);
  ports.replies.acks.end(rows);
  return true;
}

/** Somebody who was told that there is no answer is not to get one: the row may only lack its outcome. */
async function wasToldOfFailure(waiting: Waiting, first: InboxRow, ports: RunnerPorts): Promise<boolean> {
  const { outbox, runs } = ports.journal;
  const notice = new RegExp(`^in:${first.id}(?::again\\d+)?:(?:${NOTICE}|error)$`);
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
  // First: what takes the process down must not join the next turn, whenever this is killed.
  await leaveBehind(session, turnIdOf(first), ports.log);
  await ports.replies.refuse(rows, log, TOO_MANY_STARTS);
  return true;
}

/** The rows of a turn end together: the first with the outcome, the others with the first. */
export async function finishRows(
  rows: readonly InboxRow[],
  outcome: Outcome,
  ports: Pick<RunnerPorts, "journal" | "clock" | "log" | "link" | "replies">,
): Promise<void> {
  const ids = rows.map((row) => row.id);
  await whenRoom(() => ports.journal.inbox.finishTurn(ids, outcome), ports);
  ports.replies.acks.end(rows);
  if (outcome.kind === "silent" || outcome.kind === "aborted") leaveUnanswered(rows, ports);
}

/** A message that is part of a running turn has its end with it. Never rejects: as a turn of its own it would be answered twice. */
export async function finishSteered(
  { id }: InboxRow,
  ports: Pick<RunnerPorts, "journal" | "clock" | "log">,
): Promise<void> {
  try {
    await whenRoom(() => ports.journal.inbox.finish([id], { kind: "steered" }), ports);
  } catch (error) {
    // The next start finds it in the transcript.
    ports.log.error("message steered, and not noted so", { inbox: id, error });
  }
}
