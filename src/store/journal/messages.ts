import type { Clock } from "../../types/clock.ts";
import type { AgentFilter } from "../../types/run/agent-filter.ts";
import type { InboxRow, OutboxRow } from "../../types/journal.ts";
import type { InboundMessage, MessageOptions } from "../../types/chat/message.ts";
import { agentTerm, count, countOr } from "../database/columns.ts";
import type { Commits } from "../database/commits.ts";
import { toInboxRow, putMessage } from "./inbox-rows.ts";
import { OUTBOX_ROWS, toOutboxRow } from "./outbox.ts";
import type { Params, Row, Statements } from "../database/sqlite.ts";
import { readInbound } from "./read-inbound.ts";

/** Selects rows. For inbox rows the session is the claimed one. */
export interface RowFilter extends AgentFilter {
  readonly channel?: string | undefined;
  readonly sessionKey?: string | undefined;
  /** Inbox: without an outcome. Outbox: not sent. */
  readonly isOpen?: boolean | undefined;
}

/** How often a platform offered an event. */
export interface Seen {
  readonly times: number;
  readonly lastAt?: number;
}

/** Reads rows for people. A platform's id is unique in its chat at best, so several rows may have it. */
export interface MessageLook {
  /** The latest first. */
  inboxRows(limit: number, filter?: RowFilter): Promise<readonly InboxRow[]>;
  inboxRow(id: number): Promise<InboxRow | undefined>;
  /** Rows by the platform's id of the message, the latest first. */
  inboxOfMessage(messageId: string, channel?: string): Promise<readonly InboxRow[]>;
  /** Rows of messages that an operator had run again, oldest first. */
  againOf(id: number): Promise<readonly InboxRow[]>;
  seen(message: InboundMessage): Promise<Seen | undefined>;
  /** The latest first. */
  outboxRows(limit: number, filter?: RowFilter): Promise<readonly OutboxRow[]>;
  outboxRow(id: number): Promise<OutboxRow | undefined>;
  /** Rows by the platform's id of the sent message, the latest first. */
  outboxOfMessage(messageId: string, channel?: string): Promise<readonly OutboxRow[]>;
  outboxOf(inboxId: number): Promise<readonly OutboxRow[]>;
}

/** Changes of rows by an operator. The code that is working on a row gets its message elsewhere. */
export interface MessageDesk extends MessageLook {
  /**
   * Adds rows for the message of a row with an outcome, and for the messages that were part of its turn. If an earlier
   * copy is open or answered, returns that copy instead. Undefined when there is no such row. The old rows keep their
   * outcomes.
   */
  runAgain(id: number): Promise<Again | undefined>;
  /**
   * Makes an unsent row ready to be sent: `unknown` when it may have arrived, so that it is labelled, or else `planned`.
   * Undefined when it is sent or does not exist.
   */
  sendAgain(id: number): Promise<OutboxRow | undefined>;
}

const MOST_FOUND = 20;
/** Rows with `unsent`: every part of the answer was given up. */
const INBOX_ROWS = `
  SELECT inbox.*, EXISTS (SELECT 1 FROM outbox WHERE outbox.inbox_id = inbox.id AND outbox.state = 'failed')
    AND NOT EXISTS (SELECT 1 FROM outbox WHERE outbox.inbox_id = inbox.id AND outbox.state <> 'failed') AS unsent
  FROM inbox`;
const OUTBOX_READY = `
  UPDATE outbox SET retried_at = ?, error = NULL,
    state = CASE WHEN was_unknown OR state IN ('unknown', 'sending') THEN 'unknown' ELSE 'planned' END
  WHERE id = ? AND state <> 'sent'`;

export function createMessageLook(commits: Commits): MessageLook {
  const inbox = (sql: string, ...values: Params) => commits.read((db) => db.all(sql, ...values).map(toShownRow));
  const outbox = (sql: string, ...values: Params) =>
    commits.read((db) => db.all(`${OUTBOX_ROWS} ${sql}`, ...values).map(toOutboxRow));
  return {
    inboxRows(limit, filter) {
      const { where, values } = inboxTerms(filter);
      return inbox(`${INBOX_ROWS} ${where} ORDER BY id DESC LIMIT ?`, ...values, limit);
    },
    inboxRow: async (id) => (await inbox(`${INBOX_ROWS} WHERE id = ?`, id))[0],
    async inboxOfMessage(messageId, channel) {
      const rows = await inbox(
        `${INBOX_ROWS} WHERE json_extract(message, '$.id') = ? ORDER BY id DESC LIMIT ?`,
        messageId,
        MOST_FOUND,
      );
      return rows.filter((row) => channel === undefined || row.message.from.channel === channel);
    },
    againOf: (id) => inbox(`${INBOX_ROWS} WHERE again_of = ? ORDER BY id`, id),
    seen: ({ from, eventKey }) =>
      commits.read((sql) => seenOf(sql, [from.channel, from.account, eventKey] satisfies Params)),
    outboxRows(limit, filter) {
      const { where, values } = outboxTerms(filter);
      return outbox(`${where} ORDER BY outbox.id DESC LIMIT ?`, ...values, limit);
    },
    outboxRow: async (id) => (await outbox("WHERE outbox.id = ?", id))[0],
    async outboxOfMessage(messageId, channel) {
      const rows = await outbox("WHERE outbox.message_id = ? ORDER BY outbox.id DESC LIMIT ?", messageId, MOST_FOUND);
      return rows.filter((row) => channel === undefined || row.to.channel === channel);
    },
    outboxOf: (inboxId) => outbox("WHERE outbox.inbox_id = ? ORDER BY outbox.id", inboxId),
  };
}

const toShownRow = (row: Row): InboxRow => ({
  ...toInboxRow(row),
  ...(count(row, "unsent") > 0 && { isUnsent: true }),
});

export function createMessageDesk(commits: Commits, clock: Clock): MessageDesk {
  const look = createMessageLook(commits);
  return {
    ...look,
    runAgain: (id) => commits.write((sql) => runAgain(sql, id, clock.now())),
    async sendAgain(id) {
      const changed = await commits.write((sql) => sql.run(OUTBOX_READY, clock.now(), id).changes);
      return changed === 0 ? undefined : look.outboxRow(id);
    },
  };
}

function seenOf(sql: Statements, key: Params): Seen | undefined {
  const row = sql.one("SELECT times, last_at FROM seen WHERE channel = ? AND account = ? AND event_key = ?", ...key);
  if (!row) return undefined;
  const lastAt = countOr(row, "last_at");
  return { times: count(row, "times"), ...(lastAt !== undefined && { lastAt }) };
}

type Terms = readonly (readonly [term: string, value?: string | undefined] | false)[];

function ofAgent(filter: AgentFilter, column: string): Terms[number] {
  const [term, [value] = []] = agentTerm(filter, column) ?? [];
  return term !== undefined && typeof value === "string" && [term, value];
}

const inboxTerms = ({ channel, sessionKey, isOpen, ...of }: RowFilter = {}) =>
  joinTerms([
    ofAgent(of, "agent"),
    channel !== undefined && ["json_extract(message, '$.from.channel') = ?", channel],
    sessionKey !== undefined && ["session_key = ?", sessionKey],
    isOpen === true && ["state <> 'done'"],
  ]);

const outboxTerms = ({ channel, sessionKey, isOpen, ...of }: RowFilter = {}) =>
  joinTerms([
    ofAgent(of, "inbox.agent"),
    channel !== undefined && ["json_extract(outbox.target, '$.channel') = ?", channel],
    sessionKey !== undefined && ["inbox.session_key = ?", sessionKey],
    isOpen === true && ["outbox.state <> 'sent'"],
  ]);

function joinTerms(all: Terms): { where: string; values: Params } {
  const terms = all.filter((one) => one !== false);
  return {
    where: terms.length === 0 ? "" : `WHERE ${terms.map(([term]) => term).join(" AND ")}`,
    values: terms.flatMap(([, value]) => value ?? []),
  };
}

/**
 * The result of running a message again: copies of the message and of its turn's other messages, or the copy that
 * prevents it.
 */
type Again =
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
function runAgain(sql: Statements, id: number, now: number): Again | undefined {
  const found = sql.one(DONE, id);
  if (!found) return undefined;
  const standing = sql.one(STANDING, id);
  if (standing) return { kind: "standing", copy: toInboxRow(standing) };
  // The texts of merged rows were part of the turn that got no answer.
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
  const { message } = readInbound(row.message.unreadable?.raw ?? row.message, now);
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

/** The session that learns of the end of a message also learns of the end of its copy. */
function nextOf({ options }: InboundMessage, mark: string): Pick<MessageOptions, "whenEnded"> {
  const next = options?.whenEnded;
  return next ? { whenEnded: { ...next, id: next.id + mark, eventKey: next.eventKey + mark } } : {};
}
