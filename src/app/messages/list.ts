import type { MessageLook, RowFilter } from "../../store/journal/messages.ts";
import type { MessageSource } from "../../store/journal/read-only.ts";
import { OpenClawError } from "../../types/errors.ts";
import type { InboxRow, OutboxRow } from "../../types/journal.ts";
import { cameIn, wentOut } from "./view.ts";

type Rows = Pick<MessageSource, "messages">;

/** Messages, the latest first. */
export async function listInbox({ messages }: Rows, limit: number, filter: RowFilter) {
  return { rows: (await messages.inboxRows(limit, filter)).map(cameIn) };
}

/** A message and its replies. Throws NOT_FOUND. */
export async function showInbox({ messages }: Rows, id: number) {
  const row = await inboxRow(messages, id);
  const [seen, again, replies] = await Promise.all([
    messages.seen(row.message),
    messages.againOf(id),
    messages.outboxOf(id),
  ]);
  return {
    row: cameIn(row),
    seen: seen?.times ?? 1,
    again: again.map((one) => one.id),
    replies: replies.map(wentOut),
  };
}

/** Chunks of replies, the latest first. */
export async function listOutbox({ messages }: Rows, limit: number, filter: RowFilter) {
  return { rows: (await messages.outboxRows(limit, filter)).map(wentOut) };
}

/** One chunk. Throws NOT_FOUND. */
export async function showOutbox({ messages }: Rows, id: number) {
  return { row: wentOut(await outboxRow(messages, id)) };
}

export async function inboxRow(messages: Pick<MessageLook, "inboxRow">, id: number): Promise<InboxRow> {
  const row = await messages.inboxRow(id);
  if (row) return row;
  throw new OpenClawError("NOT_FOUND", {
    message: `There is no message in row ${id}.`,
    fix: "See what there is: openclaw inbox list --all. Rows are kept as long as `retention` says.",
  });
}

export async function outboxRow(messages: Pick<MessageLook, "outboxRow">, id: number): Promise<OutboxRow> {
  const row = await messages.outboxRow(id);
  if (row) return row;
  throw new OpenClawError("NOT_FOUND", {
    message: `There is no reply in row ${id}.`,
    fix: "See what there is: openclaw outbox list --all. Rows are kept as long as `retention` says.",
  });
}
