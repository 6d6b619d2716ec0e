import type { InboxRow } from "../../../types/journal.ts";
import type { InboundMessage, MessageOptions } from "../../../types/chat/message.ts";
import { count } from "../columns.ts";
import { readMessage } from "./read-message.ts";
import { putMessage, toInboxRow } from "./rows.ts";
import type { Statements } from "../sqlite.ts";

/** The result of running a message again: the copies of it and of its turn's other messages, or the copy that prevents it. */
export type Again =
  | { readonly kind: "copied"; readonly row: InboxRow; readonly others: readonly InboxRow[] }
  | { readonly kind: "standing"; readonly copy: InboxRow };

const UNANSWERED = "('failed', 'dropped', 'aborted')";
/** Whether `turn`, a row of the inbox, has no outcome yet or was answered. */
const STANDS = (turn: string): string =>
  `(${turn}.state <> 'done' OR json_extract(${turn}.outcome, '$.kind') NOT IN ${UNANSWERED})`;
/** The other rows of one message that are open or answered. A row that was merged into a turn counts as that turn does. */
const STANDING = `
  WITH RECURSIVE
    above (id, again_of) AS (
      SELECT id, again_of FROM inbox WHERE id = ?1
      UNION SELECT inbox.id, inbox.again_of FROM inbox JOIN above ON inbox.id = above.again_of),
    family (id) AS (
      SELECT id FROM above
      UNION SELECT inbox.id FROM inbox JOIN family ON inbox.again_of = family.id)
  SELECT inbox.* FROM inbox JOIN family USING (id)
    LEFT JOIN inbox AS turn ON turn.id = json_extract(inbox.outcome, '$.into')
  WHERE inbox.id <> ?1 AND ${STANDS("inbox")} AND (turn.id IS NULL OR ${STANDS("turn")})
  ORDER BY inbox.id DESC LIMIT 1`;
const DONE = "SELECT * FROM inbox WHERE id = ? AND state = 'done'";
const MERGED = "SELECT * FROM inbox WHERE state = 'done' AND json_extract(outcome, '$.into') = ? ORDER BY id";

/** Undefined when there is no such row with an outcome. */
export function runAgain(sql: Statements, id: number, now: number): Again | undefined {
  const found = sql.one(DONE, id);
  if (!found) return undefined;
  const standing = sql.one(STANDING, id);
  if (standing) return { kind: "standing", copy: toInboxRow(standing) };
  // Their texts were part of the turn that got no answer.
  const merged = sql.all(MERGED, id).map(toInboxRow);
  const others = merged.filter((row) => !sql.one(STANDING, row.id));
  return {
    kind: "copied",
    row: copyOf(sql, toInboxRow(found), now),
    others: others.map((row) => copyOf(sql, row, now)),
  };
}

/** The copy is a separate event with its own turn, run and replies. */
function copyOf(sql: Statements, row: InboxRow, now: number): InboxRow {
  const { id } = row;
  // A newer version of the gateway may be able to read it.
  const { message } = readMessage(row.message.unreadable?.raw ?? row.message, now);
  const earlier = count(sql.one("SELECT count(*) AS n FROM inbox WHERE again_of = ?", id), "n");
  const mark = `#again-${id}-${earlier + 1}`;
  const isOperator = message.options?.operator === true;
  const copy = {
    ...message,
    eventKey: message.eventKey + mark,
    // An operator's message names its run. An answer quotes the id of a platform's message.
    id: isOperator ? message.id + mark : message.id,
    receivedAt: now,
    sentAt: message.sentAt ?? message.receivedAt,
    ...(message.options && { options: { ...message.options, ...nextOf(message, mark) } }),
  };
  return putMessage(sql, copy, now, id);
}

/** Whoever hears of the end of a message also hears of the end of its copy. */
function nextOf({ options }: InboundMessage, mark: string): Pick<MessageOptions, "whenEnded"> {
  const next = options?.whenEnded;
  return next ? { whenEnded: { ...next, id: next.id + mark, eventKey: next.eventKey + mark } } : {};
}
