import { dropInbox, retryInbox } from "../../../messages/act.ts";
import { listInbox, showInbox } from "../../../messages/list.ts";
import { type InboxLine, messageAnswers } from "../../../../types/answers/messages.ts";
import { writeJson, type Io } from "../../io.ts";
import { pairs, table } from "../../table.ts";
import { showDuration } from "../../../../utils/time/duration.ts";
import { actOnRow, askMessages, filtersOf, rowNumber, type ListAsked } from "../message/message-source.ts";
import { outboxTable, tell } from "./outbox.ts";
import { localTime } from "../runs/run-figures.ts";

interface Json {
  readonly json?: boolean;
}

/** Messages without an outcome, or all, the latest first. */
export async function inboxList(io: Io, flags: ListAsked & Json): Promise<number> {
  const { params, filter } = await filtersOf(io, flags);
  const { rows } = await askMessages(io, {
    method: "inbox.list",
    params,
    shape: messageAnswers.inboxList,
    here: (journal) => listInbox(journal, flags.limit, filter),
  });
  if (flags.json === true) writeJson(io, { count: rows.length, rows });
  else if (rows.length === 0)
    io.out(flags.all === true ? "No message is known.\n" : "Every message has its outcome.\n");
  else io.out(table(io, ["ROW", "TIME", "CHANNEL", "CHAT", "SENDER", "STATE", "TEXT"], rows.map(cells)));
  return 0;
}

/** UTF-16 units of a message in a list. */
const SHOWN = 60;

function cells(row: InboxLine): readonly string[] {
  const { id, channel, chat, sender, text } = row;
  const words = text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text;
  return [String(id), localTime(takenAt(row)), channel, chat, sender.name ?? sender.id, stateOf(row), words];
}

const takenAt = ({ acceptedAt, receivedAt }: InboxLine): number => acceptedAt ?? receivedAt;

function stateOf({ state, outcome, ...row }: InboxLine): string {
  if (outcome?.kind === "replied" && row.isUnsent === true) return "answered, but nothing of it was sent";
  if (outcome) return outcome.why === undefined ? outcome.kind : `${outcome.kind}: ${outcome.why}`;
  const age = showDuration(Date.now() - (row.acceptedAt ?? row.receivedAt));
  return state === "accepted" ? `waits for ${age}` : `in work for ${age}`;
}

/** One message with its replies. Throws NOT_FOUND. */
export async function inboxShow(io: Io, given: string, flags: Json): Promise<number> {
  const id = rowNumber(given);
  const found = await askMessages(io, {
    method: "inbox.get",
    params: { id },
    shape: messageAnswers.inboxRow,
    here: (journal) => showInbox(journal, id),
  });
  if (flags.json === true) {
    writeJson(io, found);
    return 0;
  }
  const { row, seen, again, replies } = found;
  io.out(
    pairs(io, [
      ["Row", String(row.id)],
      ["Message", row.messageId],
      ["Chat", `${row.channel}/${row.account} ${row.chat}`],
      ["Sender", row.sender.name === undefined ? row.sender.id : `${row.sender.name} (${row.sender.id})`],
      ["Came", localTime(takenAt(row))],
      ["Offered", seen > 1 ? `${seen} times` : undefined],
      ["Session", row.sessionKey],
      ["Run", row.runId],
      ["State", stateOf(row)],
      ["Ended", row.doneAt === undefined ? undefined : localTime(row.doneAt)],
      ["Run again", again.length === 0 ? undefined : `as row ${again.join(", ")}`],
      ["First", row.againOf === undefined ? undefined : `as row ${row.againOf}`],
      ["Files", row.files === 0 ? undefined : String(row.files)],
      ["Text", row.text],
    ]),
  );
  if (replies.length > 0) io.out(`\n${outboxTable(io, replies)}`);
  return 0;
}

/** Runs a message that was not answered. Throws NOT_FOUND, and USAGE for one that was. */
export async function inboxRetry(io: Io, given: string, flags: Json): Promise<number> {
  return tell(io, await actOnRow(io, "inbox.retry", given, retryInbox), flags);
}

/** Ends a message without an answer. Throws NOT_FOUND, and USAGE for one that has ended. */
export async function inboxDrop(io: Io, given: string, flags: Json): Promise<number> {
  return tell(io, await actOnRow(io, "inbox.drop", given, dropInbox), flags);
}
