import { BY_OPERATOR } from "../../store/database/counts.ts";
import type { InboxRow } from "../../types/journal.ts";
import type { Dispatch } from "../dispatch.ts";
import type { DispatchPorts } from "../ports.ts";
import { recover, type RecoveryPorts } from "../recover.ts";

/** The result of `runNow`: the message was running or waiting already, or begins now. */
export type Begun = "running" | "waiting" | "begun";

/** Starts a message without an outcome, unless it is running or waiting. Rejects when the journal cannot be read. */
export async function runNow(row: InboxRow, dispatch: Dispatch, ports: RecoveryPorts): Promise<Begun> {
  const standing = dispatch.stateOf(row);
  if (standing) return standing;
  await recover(dispatch, ports, [row], { maxAgeMs: Infinity, maxRows: Infinity });
  return "begun";
}

/**
 * The result of `dropNow`: the run stopped, the message only waited, its turn continues for other messages, nothing
 * ran, or the message had its outcome already or gets it from a run that has ended, and nothing was changed.
 */
export type Dropped = "stopped" | "waiting" | "continues" | "idle" | "ended";

/**
 * Ends a message without an answer, and its turn's run too, unless the turn has other messages. A turn that claims the
 * message at the same time either has it, or leaves it out; the result says which.
 */
export async function dropNow(
  row: InboxRow,
  dispatch: Dispatch,
  {
    storage: {
      journal: { inbox },
    },
  }: Pick<DispatchPorts, "storage">,
): Promise<Dropped> {
  const { lanes } = dispatch;
  if (lanes.isDecided(row.id)) return "ended";
  const standing = dispatch.stateOf(row);
  // The outcome is set first, so that the end of the message's run does not set another one. The run is stopped before
  // it can end in the meantime.
  const withdrawing = inbox.withdraw(row.id, { kind: "dropped", why: BY_OPERATOR });
  const stopping = standing === "running" ? lanes.drop(row.id) : undefined;
  const was = await withdrawing;
  if (was === "ended") return "ended";
  const dropped = await (stopping ?? lanes.drop(row.id));
  // A turn that had not claimed the message leaves it out, however far that turn is.
  return was === "untouched" && standing !== undefined ? "waiting" : dropped;
}
