import type { InboxRow } from "../../../types/journal.ts";
import type { QueuedTurn } from "../../queue/lane-task.ts";
import type { TurnPorts } from "../ports.ts";

type LoadPorts = Pick<TurnPorts, "journal" | "kinds" | "log" | "replies">;

/** Completes messages whose texts the journal does not have. Those without anything to say end here; undefined when none remain. */
export async function loadRows(queued: QueuedTurn, ports: LoadPorts): Promise<QueuedTurn | undefined> {
  if (queued.rows.every(({ message }) => ports.kinds.of(message).load === undefined)) return queued;
  const rows: InboxRow[] = [];
  for (const row of queued.rows) {
    const loaded = await loadRow(row, ports);
    if (loaded) rows.push(loaded);
  }
  return rows.length > 0 ? { ...queued, rows } : undefined;
}

async function loadRow(row: InboxRow, { journal, kinds, log, replies }: LoadPorts): Promise<InboxRow | undefined> {
  const { load } = kinds.of(row.message);
  if (!load) return row;
  const message = await load(row.message);
  if (!("dropped" in message)) return { ...row, message };
  log.info("dropped", { inbox: row.id, session: row.sessionKey, why: message.dropped });
  await journal.inbox.finish([row.id], { kind: "dropped", why: message.dropped });
  replies.acks.end([row]);
  return undefined;
}
