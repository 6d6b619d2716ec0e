import type { MessageSource } from "../../store/journal/read-only.ts";
import { OpenClawError } from "../../types/errors.ts";
import type { InboxRow, OutboxRow } from "../../types/journal.ts";
import type { Peer } from "../../types/chat/message.ts";
import { inboxRow } from "./list.ts";

/** Characters of a run's id that are enough to identify it. */
const LEAST_PREFIX = 4;
const MOST_NAMED = 5;

/** Inbound messages, and outbound ones that answer no inbound message. */
export interface FoundMessages {
  readonly rows: readonly InboxRow[];
  readonly sent: readonly OutboxRow[];
}

/**
 * The messages that an id identifies: `#12` a row of the inbox; else a platform's id of a message or of a reply to one,
 * a row, or the id of a run or its beginning. One message may be several rows of a chat (written, edited). Throws
 * NOT_FOUND, and USAGE when it may mean messages of different chats.
 */
export async function findMessages(journal: MessageSource, id: string, channel?: string): Promise<FoundMessages> {
  const row = /^#(\d{1,15})$/.exec(id)?.[1];
  if (row !== undefined) return { rows: [await inboxRow(journal.messages, Number(row))], sent: [] };
  const isMeant = (place: Peer) => channel === undefined || place.channel === channel;
  const out = (await journal.messages.outboxOfMessage(id)).filter(({ to }) => isMeant(to));
  const asked = await askedFor(journal, out);
  const found = [...asked.values(), ...(await candidates(journal, id))].filter(({ message }) => isMeant(message.from));
  const rows = withoutCopies([...new Map(found.map((one) => [one.id, one])).values()]);
  const sent = out.filter(({ inboxId }) => inboxId === undefined || !asked.has(inboxId));
  if (rows.length + sent.length === 0) throw unknownId(id);
  const chats = [...rows.map(({ message }) => message.from), ...sent.map(({ to }) => to)].map(chatOf);
  if (new Set(chats).size > 1) throw severalFit(id, { rows, sent });
  return { rows: rows.toSorted((a, b) => a.id - b.id), sent: sent.toSorted((a, b) => a.id - b.id) };
}

/** The messages that replies answer, by row, as far as they are still kept. */
async function askedFor({ messages }: MessageSource, replies: readonly OutboxRow[]): Promise<Map<number, InboxRow>> {
  const ids = new Set(replies.flatMap(({ inboxId }) => inboxId ?? []));
  const rows = await Promise.all([...ids].map((id) => messages.inboxRow(id)));
  return new Map(rows.flatMap((row) => (row ? [[row.id, row] as const] : [])));
}

/**
 * The inbound messages that a platform's id names, or that a reply with this id answers, latest first: of whatever
 * chat.
 */
export async function messagesNamed(journal: MessageSource, id: string): Promise<readonly InboxRow[]> {
  const asked = await askedFor(journal, await journal.messages.outboxOfMessage(id));
  const rows = [...asked.values(), ...(await journal.messages.inboxOfMessage(id))].toSorted((a, b) => b.id - a.id);
  return withoutCopies([...new Map(rows.map((row) => [row.id, row])).values()]);
}

async function candidates({ messages, inbox, runs }: MessageSource, id: string): Promise<readonly InboxRow[]> {
  const ofRow = /^\d{1,15}$/.test(id) ? await messages.inboxRow(Number(id)) : undefined;
  const known = (await runs.find(id)) || id.length < LEAST_PREFIX ? [] : await runs.beginningWith(id, MOST_NAMED);
  // The journal has no receipt of a run that has not ended.
  const ofRuns = await Promise.all([id, ...known.map(({ runId }) => runId)].map((one) => inbox.ofRun(one)));
  const rows = [...(await messages.inboxOfMessage(id)), ofRow, ...ofRuns.map(([first]) => first)];
  return rows.filter((row) => row !== undefined);
}

/** The rows without copies: a message that an operator ran again is shown with its first run. */
function withoutCopies(rows: readonly InboxRow[]): readonly InboxRow[] {
  const ids = new Set(rows.map((row) => row.id));
  return rows.filter((row) => row.againOf === undefined || !ids.has(row.againOf));
}

const chatOf = ({ channel, account, chat }: Peer): string => `${channel}\n${account}\n${chat.id}`;

function unknownId(id: string): OpenClawError {
  return new OpenClawError("NOT_FOUND", {
    message: `Nothing here is called ${id}: no message, reply, row or run.`,
    fix: "See what there is: openclaw inbox list --all, openclaw runs list. Rows are kept as long as `retention` says.",
  });
}

function severalFit(id: string, { rows, sent }: FoundMessages): OpenClawError {
  const named = [
    ...rows.map(({ id: row, message }) => `#${row} (message ${message.id}, ${placeOf(message.from)})`),
    ...sent.map(({ id: row, to }) => `reply row ${row} (${placeOf(to)}), as in openclaw outbox show ${row}`),
  ];
  const [first] = rows;
  const name = first ? `Name the row with its sign, such as '#${first.id}', or the channel` : "Name the channel";
  return new OpenClawError("USAGE", {
    message: `Several messages may be meant by ${id}: ${named.slice(0, MOST_NAMED).join(", ")}.`,
    fix: `${name} with --channel.`,
  });
}

const placeOf = ({ channel, chat }: Peer): string => `${channel} chat ${chat.id}`;
