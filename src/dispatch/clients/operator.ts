import { BY_OPERATOR } from "../../store/journal/counts.ts";
import type { InboxRow } from "../../types/journal.ts";
import type { Dispatch } from "../dispatch.ts";
import type { DispatchPorts } from "../ports.ts";
import { recover, type RecoveryPorts } from "../recovery/recover.ts";

/** The result of `runNow`: the message was running or waiting already, or begins now. */
export type Begun = "running" | "waiting" | "begun";

/** Starts a message without an outcome, unless it is running or waiting. Rejects when the journal cannot be read. */
export async function runNow(row: InboxRow, dispatch: Dispatch, ports: RecoveryPorts): Promise<Begun> {
  const standing = dispatch.stateOf(row);
  if (standing) return standing;
  await recover(dispatch, ports, [row], { maxAgeMs: Infinity, maxRows: Infinity });
  return "begun";
}

/** The result of `dropNow`: the run stopped, the message only waited, its turn continues for other messages, or nothing ran. */
export type Dropped = "stopped" | "waiting" | "continues" | "idle";

/** Ends a message without an answer, and its turn's run too, unless the turn has other messages. */
export async function dropNow(
  row: InboxRow,
  dispatch: Dispatch,
  ports: Pick<DispatchPorts, "journal">,
): Promise<Dropped> {
  // First, so that the end of its run does not set another outcome.
  await ports.journal.inbox.finish([row.id], { kind: "dropped", why: BY_OPERATOR });
  return dispatch.lanes.drop(row.id);
}
