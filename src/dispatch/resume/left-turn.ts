import { progressOf } from "../../harness/run/progress.ts";
import type { InboxRow, Journal, Outcome } from "../../types/journal.ts";
import type { RunResult } from "../../types/run/run.ts";
import type { Session } from "../../types/session.ts";
import { NOTICE } from "../answer/reply-names.ts";
import { runIdOf, turnIdOf } from "../turn-facts.ts";

/** The state in which earlier processes left a turn. */
export type LeftTurnState =
  /** No process has begun the turn. */
  | { readonly kind: "fresh" }
  /** The transcript says how far the turn got, and the run continues from there. */
  | { readonly kind: "underway" }
  /**
   * The chat was informed about the end of the turn; only the outcome of its messages is missing. `result`: for clients
   * that watch its run.
   */
  | { readonly kind: "answered"; readonly outcome: Outcome; readonly result: RunResult }
  /** Too many processes ended during the turn. */
  | { readonly kind: "gave_up" };

/** The messages of a turn. `head`: the first message that the turn was queued with, even if it has ended since. */
interface TurnRows {
  readonly head: InboxRow | undefined;
  readonly rows: readonly InboxRow[];
}

/** The most processes that try a message: a message that crashes the process each time must not do so for ever. */
const MOST_STARTS = 3;

/** Finds the state in which earlier processes left a turn. Changes nothing. */
export async function leftTurnStateOf(
  { head, rows: [first] }: TurnRows,
  session: Session,
  journal: Pick<Journal, "outbox" | "runs">,
): Promise<LeftTurnState> {
  if (!first || first.attempts === 0) return { kind: "fresh" };
  // An answer's reply key names the first message of its turn, even if that message was dropped since.
  if (head && head !== first && (await journal.outbox.of(head.id)).length > 0)
    return { kind: "answered", outcome: { kind: "merged", into: head.id }, result: { kind: "replied", stop: "stop" } };
  const failed = await failureToldOf(first, journal);
  if (failed) return failed;
  // An answer that is already complete is still delivered, since no model is asked for it.
  const isOver = first.attempts >= MOST_STARTS && (await progressOf(session, turnIdOf(first))).kind !== "finished";
  return { kind: isOver ? "gave_up" : "underway" };
}

/** The end of a turn whose sender was informed that there is no answer: they must not get an answer later. */
async function failureToldOf(
  first: InboxRow,
  { outbox, runs }: Pick<Journal, "outbox" | "runs">,
): Promise<LeftTurnState | undefined> {
  const notice = new RegExp(`^in:${first.id}(?::again\\d+)?:(?:${NOTICE}|error)$`);
  if (!(await outbox.of(first.id)).some(({ replyKey }) => notice.test(replyKey))) return undefined;
  const record = await runs.find(runIdOf(first));
  const how = record?.result.startsWith("failed:") === true ? record.result.slice("failed:".length) : "failed";
  const why = `${how}: its chat was informed before a restart`;
  return {
    kind: "answered",
    outcome: { kind: "failed", why },
    result: { kind: "failed", failure: { kind: "unknown", message: why } },
  };
}
