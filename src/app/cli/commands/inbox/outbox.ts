import { dropOutbox, retryOutbox } from "../../../messages/act.ts";
import { listOutbox, showOutbox } from "../../../messages/list.ts";
import { messageAnswers, type Done, type OutboxLine } from "../../../../types/answers/messages.ts";
import { writeJson, type Io } from "../../io.ts";
import { pairs, table } from "../../table.ts";
import { actOnRow, askMessages, filtersOf, rowNumber, type ListAsked } from "../message/message-source.ts";
import { localTime } from "../runs/run-figures.ts";

interface Json {
  readonly json?: boolean;
}

/** Replies that were not sent, or all, the latest first; a line for each message of them. */
export async function outboxList(io: Io, flags: ListAsked & Json): Promise<number> {
  const { params, filter } = await filtersOf(io, flags);
  const { rows } = await askMessages(io, {
    method: "outbox.list",
    params,
    shape: messageAnswers.outboxList,
    here: (journal) => listOutbox(journal, flags.limit, filter),
  });
  if (flags.json === true) writeJson(io, { count: rows.length, rows });
  else if (rows.length === 0) io.out(flags.all === true ? "No reply is known.\n" : "Every reply was sent.\n");
  else io.out(outboxTable(io, rows));
  return 0;
}

const HEADS = ["ROW", "TIME", "FOR", "CHANNEL", "CHAT", "STATE", "TRIES", "MESSAGE", "WHY"];

export function outboxTable(io: Io, rows: readonly OutboxLine[]): string {
  const cells = rows.map((row) => [
    String(row.id),
    localTime(row.createdAt),
    row.inboxId === undefined ? "" : `#${row.inboxId}`,
    row.channel,
    row.chat,
    stateOf(row),
    String(row.attempts),
    row.messageId ?? "",
    row.error ?? "",
  ]);
  return table(io, HEADS, cells);
}

const stateOf = ({ state, isRepeat }: OutboxLine): string => (isRepeat === true ? `${state} (possible repeat)` : state);

/** One message of a reply. Throws NOT_FOUND. */
export async function outboxShow(io: Io, given: string, flags: Json): Promise<number> {
  const id = rowNumber(given);
  const found = await askMessages(io, {
    method: "outbox.get",
    params: { id },
    shape: messageAnswers.outboxRow,
    here: (journal) => showOutbox(journal, id),
  });
  if (flags.json === true) {
    writeJson(io, found);
    return 0;
  }
  const { row } = found;
  io.out(
    pairs(io, [
      ["Row", String(row.id)],
      ["For", row.inboxId === undefined ? undefined : `row ${row.inboxId} of the inbox`],
      ["Chat", `${row.channel}/${row.account} ${row.chat}`],
      ["Session", row.sessionKey],
      ["Run", row.runId],
      ["Part", String(row.part + 1)],
      ["State", stateOf(row)],
      ["Why", row.error],
      ["Tries", String(row.attempts)],
      ["Message", row.messageId],
      ["Planned", localTime(row.createdAt)],
      ["Sent", row.sentAt === undefined ? undefined : localTime(row.sentAt)],
      ["Files", row.files === undefined ? undefined : String(row.files)],
      ["Text", row.text === "" ? undefined : row.text],
    ]),
  );
  return 0;
}

/** Sends a reply that was not sent. Throws NOT_FOUND, and USAGE for a sent one. */
export async function outboxRetry(io: Io, given: string, flags: Json): Promise<number> {
  return tell(io, await actOnRow(io, "outbox.retry", given, retryOutbox), flags);
}

/** Gives up a reply that was not sent. Throws NOT_FOUND, and USAGE for one that has ended. */
export async function outboxDrop(io: Io, given: string, flags: Json): Promise<number> {
  return tell(io, await actOnRow(io, "outbox.drop", given, dropOutbox), flags);
}

export function tell(io: Io, done: Done, flags: Json): number {
  if (flags.json === true) writeJson(io, done);
  else io.out(`${done.did}\n`);
  return 0;
}
