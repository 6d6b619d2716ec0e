import type { MessageSource } from "../../store/journal/read-only.ts";
import type { InboxRow, OutboxRow, RunRecord } from "../../types/journal.ts";

/** The journal's facts about one message. */
export interface MessageFacts {
  readonly row: InboxRow;
  /** Times that the platform offered the message. */
  readonly seen: number;
  readonly lastSeenAt?: number;
  readonly run?: RunRecord;
  /** The other messages of the message's turn. */
  readonly others: readonly InboxRow[];
  readonly replies: readonly OutboxRow[];
  /** Rows of the message's later runs that an operator requested. */
  readonly again: readonly InboxRow[];
}

export async function messageFacts(journal: MessageSource, row: InboxRow): Promise<MessageFacts> {
  const { messages, runs, inbox, outbox } = journal;
  const [seen, again, own, turn, run, ofTurn] = await Promise.all([
    messages.seen(row.message),
    messages.againOf(row.id),
    messages.outboxOf(row.id),
    row.runId === undefined ? [] : inbox.ofRun(row.runId),
    row.runId === undefined ? undefined : runs.find(row.runId),
    row.runId === undefined ? [] : outbox.ofRun(row.runId),
  ]);
  const replies = [...new Map([...own, ...ofTurn].map((one) => [one.id, one])).values()];
  return {
    row,
    seen: seen?.times ?? 1,
    ...(seen?.lastAt !== undefined && { lastSeenAt: seen.lastAt }),
    ...(run && { run }),
    others: turn.filter((other) => other.id !== row.id),
    replies: replies.toSorted((a, b) => a.id - b.id),
    again,
  };
}
