import { isDiskError } from "../store/disk.ts";
import { unreadableOutcome } from "../store/journal/inbox-rows.ts";
import { errorText } from "../utils/text/error-text.ts";
import type { SessionKey } from "../types/ids.ts";
import type { InboxRow } from "../types/journal.ts";
import { commandOf } from "./commands/run-command.ts";
import type { Dispatch } from "./dispatch.ts";
import type { DispatchPorts } from "./ports.ts";
import { leaveStale, partByAge, type RecoveryLimits, type StalePorts } from "./admission/stale.ts";
import { runIdOf, turnIdOf } from "./turn-facts.ts";

export type RecoveryPorts = StalePorts & Pick<DispatchPorts, "chats" | "kinds" | "storage">;

/** Six hours, 200 messages. */
const DEFAULT_LIMITS: RecoveryLimits = { maxAgeMs: 21_600_000, maxRows: 200 };

/**
 * Resumes every message without an outcome after a start, oldest first. Rows of one turn come back as one turn. A row
 * that was being steered into a running turn may be part of that turn already, which the transcript shows. Messages
 * that are too old are ended, and their chats are informed. `known`: the rows that were open before any new message
 * could arrive. Returns the number of open rows.
 */
export async function recover(
  dispatch: Dispatch,
  ports: RecoveryPorts,
  known?: readonly InboxRow[],
  limits = DEFAULT_LIMITS,
): Promise<number> {
  const rows = known ?? (await ports.storage.journal.inbox.open());
  const apart = (group: readonly InboxRow[], work: () => Promise<void>) => orLeave(group, work, dispatch, ports);
  const left: InboxRow[] = [];
  for (const row of rows) {
    await apart([row], async () => {
      const kept = await takenUp(row, ports);
      if (kept) left.push(kept);
    });
  }
  const judged: (readonly InboxRow[])[] = [];
  // Each group is decided apart: a row about which nothing can be decided would keep all others from being decided.
  for (const group of groupByTurn(left))
    await apart(group, async () => {
      for (const { sessionKey, message } of group) if (sessionKey === undefined) await ports.chats.gate(message);
      judged.push(group);
    });
  const { fresh, stale } = await partByAge(judged, ports, limits);
  await leaveStale(stale.flat(), dispatch.replies, ports);
  for (const group of begunFirst(fresh)) await apart(group, async () => resume(group, dispatch, ports));
  if (rows.length > 0) ports.log.info("messages resumed", { count: rows.length - stale.flat().length });
  return rows.length;
}

/**
 * Does the work of one turn. Where it fails, that turn alone ends as failed; its sender is informed, if that is
 * possible.
 */
async function orLeave(
  group: readonly InboxRow[],
  work: () => Promise<void>,
  dispatch: Dispatch,
  ports: RecoveryPorts,
): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (isDiskError(error)) throw error;
    const ids = group.map(({ id }) => id);
    ports.log.error("message not taken up", { inbox: ids.join(", "), error });
    const why = `not taken up after a restart: ${errorText(error)}`;
    await dispatch.replies
      .refuse(group, undefined)
      .catch(() => ports.storage.journal.inbox.finish(ids, { kind: "failed", why }));
  }
}

/** The row that is to be resumed. Undefined for a row that has ended, because it cannot be read or has joined a run. */
async function takenUp(row: InboxRow, ports: RecoveryPorts): Promise<InboxRow | undefined> {
  const outcome = unreadableOutcome(row.message);
  if (!outcome) return withoutSteered(row, ports);
  await ports.storage.journal.inbox.finish([row.id], outcome);
  const { why } = row.message.unreadable ?? {};
  ports.log.warn("a message of a wrong shape is set aside", { inbox: row.id, why });
  return undefined;
}

/** A turn that an earlier process began is half done in its transcript, so no other turn may come before it. */
const begunFirst = (groups: readonly (readonly InboxRow[])[]) =>
  groups.toSorted(([a], [b]) => Number(b?.turnId !== undefined) - Number(a?.turnId !== undefined));

async function resume(group: readonly InboxRow[], dispatch: Dispatch, ports: RecoveryPorts): Promise<void> {
  const [first] = group;
  if (!first) return;
  if (first.sessionKey === undefined) return dispatch.admit(first);
  const text = commandOf(first.message, first.sessionKey, dispatch.commands, ports)?.args;
  dispatch.enter(first.sessionKey, {
    rows: group,
    pending: group.flatMap((row) => ports.chats.groupHistory.take(row)),
    // A message that did not reach the run that it was to join has no turn yet, and waits as its queue mode says.
    ...(first.turnId !== undefined && { isReplay: true }),
    ...(text !== undefined && { text }),
  });
}

/**
 * A steered row was claimed with the run that it was to join. If the transcript has the row's turn, the answer of that
 * run is its answer, and the row is finished. Otherwise the row becomes a turn of its own.
 */
async function withoutSteered(row: InboxRow, ports: RecoveryPorts): Promise<InboxRow | undefined> {
  const { sessionKey, turnId, runId, ...unclaimed } = row;
  if (sessionKey === undefined || turnId === undefined || !wasSteered(row)) return row;
  if (!(await isInTranscript(sessionKey, turnId, ports))) return { ...unclaimed, sessionKey };
  await ports.storage.journal.inbox.finish([row.id], { kind: "steered" });
  ports.log.info("message was steered before the restart", { inbox: row.id, run: runId });
  return undefined;
}

/** Whether a row was steered: it has its own turn, but the run of another message. */
function wasSteered({ runId, turnId, ...rest }: InboxRow): boolean {
  const { id, message, state, attempts } = rest;
  const own = { id, message, state, attempts };
  return turnId === turnIdOf(own) && runId !== runIdOf(own);
}

async function isInTranscript(
  key: SessionKey,
  turnId: string,
  ports: Pick<DispatchPorts, "storage">,
): Promise<boolean> {
  const session = await ports.storage.sessions.acquire(key);
  try {
    return (await session.after(turnId)) !== undefined;
  } finally {
    session.release();
  }
}

/** Groups claimed rows by their turn, in the order of their first row. An unclaimed row is a group of one. */
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
