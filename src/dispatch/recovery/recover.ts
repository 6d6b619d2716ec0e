import type { SessionKey } from "../../types/ids.ts";
import type { InboxRow } from "../../types/journal.ts";
import { commandIn } from "../commands/asked.ts";
import type { Dispatch } from "../dispatch.ts";
import type { DispatchPorts } from "../ports.ts";
import { leaveStale, partByAge, type RecoveryLimits } from "../admission/stale.ts";
import { runIdOf, turnIdOf } from "../turn/ids.ts";

/** Six hours. */
const USUAL: RecoveryLimits = { maxAgeMs: 21_600_000, maxRows: 200 };

/**
 * After a start: every message without an outcome goes on where it was, oldest first. Rows of one turn come back as one;
 * a row that was on its way into a running turn is looked for in the transcript; what is too old is told to its chat and
 * ended. `known`: the rows that stood open before anything new could come in; what comes in goes its own way.
 */
export async function recover(
  dispatch: Dispatch,
  ports: DispatchPorts,
  known?: readonly InboxRow[],
  limits = USUAL,
): Promise<number> {
  const rows = known ?? (await ports.journal.inbox.open());
  const left: InboxRow[] = [];
  for (const row of rows) {
    const kept = await withoutSteered(row, ports);
    if (kept) left.push(kept);
  }
  const { fresh, stale } = await partByAge(groupByTurn(left), ports, limits);
  await leaveStale(stale.flat(), dispatch.replies, ports);
  for (const group of fresh) await takeUp(group, dispatch, ports);
  if (rows.length > 0) ports.log.info("messages taken up again", { count: rows.length - stale.flat().length });
  return rows.length;
}

async function takeUp(group: readonly InboxRow[], dispatch: Dispatch, ports: DispatchPorts): Promise<void> {
  const [first] = group;
  if (!first) return;
  if (first.sessionKey === undefined) return dispatch.admit(first);
  const { groupHistory, kinds } = ports;
  const { takesCommands } = kinds.of(first.message);
  const text = takesCommands ? commandIn(first.message.text, ports.settings(), dispatch.commands)?.args : undefined;
  dispatch.enter(first.sessionKey, {
    rows: group,
    pending: group.flatMap((row) => groupHistory?.take(row) ?? []),
    isReplay: true,
    ...(text !== undefined && { text }),
  });
}

/**
 * A steered row was claimed with its host's run. In the transcript it is part of the host's turn, whose answer is its
 * own; a row that did not get there becomes a turn by itself.
 */
async function withoutSteered(row: InboxRow, ports: DispatchPorts): Promise<InboxRow | undefined> {
  const { sessionKey, turnId, runId, ...unclaimed } = row;
  if (sessionKey === undefined || turnId === undefined || !wasSteered(row)) return row;
  if (!(await isWritten(sessionKey, turnId, ports))) return { ...unclaimed, sessionKey };
  await ports.journal.inbox.finish([row.id], { kind: "steered" });
  ports.log.info("message was steered before the restart", { inbox: row.id, run: runId });
  return undefined;
}

/** Its turn is its own, its run is another's. */
function wasSteered({ runId, turnId, ...rest }: InboxRow): boolean {
  const { id, message, state, attempts } = rest;
  const own = { id, message, state, attempts };
  return turnId === turnIdOf(own) && runId !== runIdOf(own);
}

async function isWritten(key: SessionKey, turnId: string, ports: DispatchPorts): Promise<boolean> {
  const session = await ports.sessions.acquire(key);
  try {
    return (await session.after(turnId)) !== undefined;
  } finally {
    session.release();
  }
}

/** Claimed rows of one turn together, in the order of their first; rows that nobody claimed alone. */
function groupByTurn(rows: readonly InboxRow[]): readonly (readonly InboxRow[])[] {
  const groups = new Map<string, InboxRow[]>();
  for (const row of rows) {
    const name = row.turnId === undefined ? `row:${row.id}` : `turn:${row.turnId}`;
    const group = groups.get(name);
    if (group) group.push(row);
    else groups.set(name, [row]);
  }
  return [...groups.values()];
}
