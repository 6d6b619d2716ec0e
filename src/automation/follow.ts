import { type ChannelId, DEFAULT_ACCOUNT } from "../types/ids.ts";
import type { Inbox, InboxRow, OutboxJournal, OutboxRow } from "../types/journal.ts";
import type { Clock } from "../types/clock.ts";

/** Milliseconds between two looks whether an answer was sent, and the longest wait for that. */
const LOOK_MS = 500;
const MOST_SEND_MS = 30_000;

interface FollowPorts {
  readonly clock: Clock;
  readonly journal: { readonly inbox: Pick<Inbox, "find" | "changes">; readonly outbox: Pick<OutboxJournal, "of"> };
  readonly signal: AbortSignal;
}

/** A message of the gateway to itself. */
interface OwnMessage {
  readonly channel: ChannelId;
  readonly eventKey: string;
}

/** The row of a message once it has its outcome; undefined when the journal has no row, or the gateway stops before. */
export async function endedRow(
  { channel, eventKey }: OwnMessage,
  { journal, signal }: FollowPorts,
): Promise<InboxRow | undefined> {
  const look = () => journal.inbox.find(channel, DEFAULT_ACCOUNT, eventKey);
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

/**
 * The outbox rows of a message, when the platform has answered about all of them; else the rows after half a minute.
 */
export async function sentRows(
  inboxId: number,
  { clock, journal, signal }: FollowPorts,
): Promise<readonly OutboxRow[]> {
  const until = clock.now() + MOST_SEND_MS;
  for (;;) {
    const rows = await journal.outbox.of(inboxId);
    const isOpen = rows.some(({ state }) => state === "planned" || state === "sending");
    if (!isOpen || clock.now() >= until || signal.aborted) return rows;
    await new Promise<void>((resolve) => clock.after(LOOK_MS, resolve));
  }
}
