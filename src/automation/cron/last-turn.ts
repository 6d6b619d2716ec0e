import type { Clock } from "../../types/clock.ts";
import type { CronJob } from "../../types/cron/job.ts";
import type { SessionKey } from "../../types/ids.ts";
import type { Inbox, InboxRow, RunLedger } from "../../types/journal.ts";

/** Milliseconds between two looks whether a run's subagents have ended. */
const LOOK_MS = 1000;

interface Ports {
  readonly clock: Clock;
  readonly journal: { readonly inbox: Pick<Inbox, "open" | "ofRun">; readonly runs: Pick<RunLedger, "last"> };
  readonly signal: AbortSignal;
}

/**
 * The turn with which a run of its own is over: the last in which its agent was told of a subagent, or the run's first one. Resolves when no
 * subagent of it works any more, or when the signal aborts.
 */
export async function lastTurn({ sessionTarget }: CronJob, row: InboxRow, ports: Ports): Promise<InboxRow> {
  const { sessionKey: key } = row;
  if (sessionTarget !== "isolated" || key === undefined) return row;
  while (!ports.signal.aborted && (await isAtWork(key, ports)))
    await new Promise<void>((resolve) => ports.clock.after(LOOK_MS, resolve));
  const record = await ports.journal.runs.last(key);
  const [last] = record ? await ports.journal.inbox.ofRun(record.runId) : [];
  return last?.message.options?.announce ? last : row;
}

/** Whether a subagent of the session works, or the session is yet to be told of one. */
async function isAtWork(key: SessionKey, { journal }: Ports): Promise<boolean> {
  const rows = await journal.inbox.open();
  return rows.some(
    ({ message: { options } }) =>
      options?.subagent?.root === key || (options?.announce !== undefined && options.sessionKey === key),
  );
}
