import { BY_OPERATOR } from "../../store/journal/counts.ts";
import type { InboxRow } from "../../types/journal.ts";
import type { Dispatch } from "../dispatch.ts";
import type { DispatchPorts } from "../ports.ts";
import { recover } from "../recovery/recover.ts";

/** What became of a message that an operator had run again: it was at work already, or begins now. */
export type Begun = "running" | "waiting" | "begun";

/** Sets a message without an outcome going, unless it is. Rejects when the journal cannot be read. */
export async function runNow(row: InboxRow, dispatch: Dispatch, ports: DispatchPorts): Promise<Begun> {
  const standing = dispatch.stateOf(row);
  if (standing) return standing;
  await recover(dispatch, ports, [row], { maxAgeMs: Infinity, maxRows: Infinity });
  return "begun";
}

/** What was ended with a message: its run, nothing but itself, or nothing since its turn holds other messages too. */
export type Dropped = "stopped" | "waiting" | "continues" | "idle";

/** Ends a message without an answer. The run of its turn ends with it, unless the turn has others in it. */
export async function dropNow(row: InboxRow, dispatch: Dispatch, ports: DispatchPorts): Promise<Dropped> {
  // First, so that the end of its run does not name another outcome.
  await ports.journal.inbox.finish([row.id], { kind: "dropped", why: BY_OPERATOR });
  return dispatch.lanes.drop(row.id);
}
