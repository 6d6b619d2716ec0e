import type { InboxRow } from "../types/journal.ts";
import type { Dispatch } from "./dispatch.ts";
import type { DispatchPorts } from "./ports.ts";

/**
 * After a start: every message without an outcome goes on where it was, oldest first. Rows of one run come back as one
 * turn; a row that was on its way into a running turn is looked for in the transcript.
 */
export async function recover(dispatch: Dispatch, ports: DispatchPorts): Promise<number> {
  const rows = await ports.journal.inbox.open();
  for (const group of groupByRun(rows)) {
    const [first] = group;
    if (first?.sessionKey === undefined) {
      if (first) await dispatch.admit(first);
    } else dispatch.enter(first.sessionKey, { rows: group, pending: [], isReplay: true });
  }
  if (rows.length > 0) ports.log.info("messages taken up again", { count: rows.length });
  return rows.length;
}

/** Claimed rows of one turn together, in the order of their first; rows that nobody claimed alone. */
function groupByRun(rows: readonly InboxRow[]): readonly (readonly InboxRow[])[] {
  const groups = new Map<string, InboxRow[]>();
  for (const row of rows) {
    const name = row.turnId === undefined ? `row:${row.id}` : `turn:${row.turnId}`;
    const group = groups.get(name);
    if (group) group.push(row);
    else groups.set(name, [row]);
  }
  return [...groups.values()];
}
