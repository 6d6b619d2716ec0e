import { endsAnswered, orphanPlan, trailingUserTurns, type EndedHow } from "../../history/orphans.ts";
import { progressOf } from "../../harness/run/progress.ts";
import type { Log } from "../../types/log.ts";
import type { Journal } from "../../types/journal.ts";
import type { Session } from "../../types/session.ts";

interface OrphanPorts {
  readonly journal: Pick<Journal, "runs">;
  readonly log: Log;
}

/** The most entries at the end of a branch that are searched. */
const MOST_SEARCHED = 40;

/**
 * Merges earlier unanswered user turns into a new one, so that nothing is lost, except turns that their sender stopped.
 * Rejects when the transcript cannot be read or written.
 */
export async function adoptUnansweredTurns(
  session: Session,
  turnId: string,
  { journal, log }: OrphanPorts,
): Promise<void> {
  if (session.isNew || (await progressOf(session, turnId)).kind !== "fresh") return;
  if (endsAnswered(await session.newest(1))) return;
  const entries = await session.newest(MOST_SEARCHED);
  // The journal is read only then, because a read commits the transaction that is being collected.
  if (trailingUserTurns(entries).length === 0) return;
  const plan = orphanPlan(entries, await endedHow(session, journal));
  if (!plan) return;
  const { entryIds } = plan;
  if (plan.kind === "merge") log.info("unanswered turns join the next one", { session: session.key, turns: entryIds });
  else await branchFrom(session, plan.parentId, { why: "aborted", turns: entryIds }, log);
}

async function endedHow(session: Session, { runs }: OrphanPorts["journal"]): Promise<EndedHow> {
  if (session.entry.abortedLastRun === true) return "aborted";
  const last = await runs.last(session.key);
  if (!last) return "none";
  return last.result.startsWith("failed") ? "failed" : "unknown";
}

/**
 * Leaves a turn out of the conversation because nobody will answer it; it may have crashed the process. Rejects when
 * the transcript cannot be written.
 */
export async function abandonTurn(session: Session, turnId: string, log: Log, why = "given up"): Promise<void> {
  const parent = await session.parentOf(turnId);
  if (parent !== undefined) await branchFrom(session, parent, { why, turns: [turnId] }, log);
}

async function branchFrom(
  session: Session,
  parent: string | null,
  left: { readonly why: string; readonly turns: readonly string[] },
  log: Log,
): Promise<void> {
  session.branch(parent);
  // When the file is opened again, the conversation continues from its last line.
  await session.append({ type: "custom", customType: "openclaw.left_turn", data: left });
  log.info("turn left out of the conversation", { session: session.key, ...left });
}
