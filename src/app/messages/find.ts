import type { MessageSource } from "../../store/read-only.ts";
import { OpenClawError } from "../../types/errors.ts";
import type { InboxRow } from "../../types/journal.ts";
import { inboxRow } from "./look.ts";

/** Letters of a run's id that are enough to mean it. */
const LEAST_PREFIX = 4;
const MOST_NAMED = 5;

/**
 * The messages that an id means: `#12` a row of the inbox; else a platform's id of a message or of a reply to one, a row, or
 * the id of a run or its beginning. One message may be several rows of a chat (written, edited). Throws NOT_FOUND, and USAGE
 * when it may mean messages of different chats.
 */
export async function findMessages(journal: MessageSource, id: string, channel?: string): Promise<readonly InboxRow[]> {
  const row = /^#(\d{1,15})$/.exec(id)?.[1];
  if (row !== undefined) return [await inboxRow(journal.messages, Number(row))];
  const found = (await candidates(journal, id)).filter(
    ({ message }) => channel === undefined || message.from.channel === channel,
  );
  const rows = withoutCopies([...new Map(found.map((one) => [one.id, one])).values()]);
  if (rows.length === 0) throw unknownId(id);
  if (new Set(rows.map(chatOf)).size > 1) throw severalFit(id, rows);
  return rows.toSorted((a, b) => a.id - b.id);
}

async function candidates({ messages, inbox, runs }: MessageSource, id: string): Promise<readonly InboxRow[]> {
  const answered = await messages.outboxOfMessage(id);
  const asked = await Promise.all(answered.flatMap((one) => one.inboxId ?? []).map((row) => messages.inboxRow(row)));
  const ofRow = /^\d{1,15}$/.test(id) ? await messages.inboxRow(Number(id)) : undefined;
  const known = (await runs.find(id)) || id.length < LEAST_PREFIX ? [] : await runs.beginningWith(id, MOST_NAMED);
  // A run that has not ended is in no ledger yet.
  const ofRuns = await Promise.all([id, ...known.map(({ runId }) => runId)].map((one) => inbox.ofRun(one)));
  const rows = [...(await messages.inboxOfMessage(id)), ...asked, ofRow, ...ofRuns.map(([first]) => first)];
  return rows.filter((row) => row !== undefined);
}

/** What an operator had run again is told with the first of it. */
function withoutCopies(rows: readonly InboxRow[]): readonly InboxRow[] {
  const ids = new Set(rows.map((row) => row.id));
  return rows.filter((row) => row.againOf === undefined || !ids.has(row.againOf));
}

const chatOf = ({ message: { from } }: InboxRow): string => `${from.channel}\n${from.account}\n${from.chat.id}`;

function unknownId(id: string): OpenClawError {
  return new OpenClawError("NOT_FOUND", {
    message: `Nothing here is called ${id}: no message, reply, row or run.`,
    fix: "See what there is: openclaw inbox list --all, openclaw runs list. Rows are kept as long as `retention` says.",
  });
}

function severalFit(id: string, rows: readonly InboxRow[]): OpenClawError {
  const named = rows
    .slice(0, MOST_NAMED)
    .map(({ id: row, message: { id: own, from } }) => `#${row} (message ${own}, ${from.channel} chat ${from.chat.id})`);
  return new OpenClawError("USAGE", {
    message: `Several messages may be meant by ${id}: ${named.join(", ")}.`,
    fix: `Name the row with its sign, such as '#${rows[0]?.id ?? 1}', or the channel with --channel.`,
  });
}
