import { DEFAULT_ACCOUNT } from "../../types/ids.ts";
import type { InboxRow, OutboxRow } from "../../types/journal.ts";
import type { Clock } from "../../types/clock.ts";
import { CRON } from "./cron-message.ts";
import type { CronJournal } from "./ports.ts";

/** Milliseconds between two looks whether an answer was sent, and how long the record of a run waits for that. */
const LOOK_MS = 500;
const MOST_SEND_MS = 30_000;

interface FollowPorts {
  readonly clock: Clock;
  readonly journal: CronJournal;
  readonly signal: AbortSignal;
}

/** The row of a slot once it has its outcome; undefined when the journal has none, or the gateway stops before. */
export async function ended(eventKey: string, { journal, signal }: FollowPorts): Promise<InboxRow | undefined> {
  const look = () => journal.inbox.find(CRON, DEFAULT_ACCOUNT, eventKey);
  const first = await look();
  if (!first) return undefined;
  const changes = journal.inbox.changes(first.id, signal);
  // The outcome may have come before the changes were followed.
  const now = await look();
  if (now?.state === "done") return now;
  for await (const _change of changes) {
    const row = await look();
    if (row?.state === "done") return row;
  }
  return undefined;
}

/** What was sent for a slot, when the platform has answered about all of it; what is known after half a minute otherwise. */
export async function sentFor(inboxId: number, { clock, journal, signal }: FollowPorts): Promise<readonly OutboxRow[]> {
  const until = clock.now() + MOST_SEND_MS;
  for (;;) {
    const rows = await journal.outbox.of(inboxId);
    const isOpen = rows.some(({ state }) => state === "planned" || state === "sending");
    if (!isOpen || clock.now() >= until || signal.aborted) return rows;
    await new Promise<void>((resolve) => clock.after(LOOK_MS, resolve));
  }
}
