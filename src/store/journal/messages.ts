import type { Clock } from "../../types/clock.ts";
import type { AgentFilter } from "../../types/run/agent-filter.ts";
import type { InboxRow, OutboxRow } from "../../types/journal.ts";
import type { InboundMessage } from "../../types/chat/message.ts";
import { runAgain, type Again } from "./inbox/again.ts";
import { agentTerm, count, countOr } from "./columns.ts";
import type { Commits } from "./commits.ts";
import { toInboxRow } from "./inbox/rows.ts";
import { OUTBOX_ROWS, toOutboxRow } from "./outbox.ts";
import type { Params, Row, Statements } from "./sqlite.ts";

/** Which rows are requested. For inbox rows the session is the claimed one. */
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
  /** By the platform's id of the message, the latest first. */
  inboxOfMessage(messageId: string, channel?: string): Promise<readonly InboxRow[]>;
  /** Rows of messages that an operator had run again, oldest first. */
  againOf(id: number): Promise<readonly InboxRow[]>;
  seen(message: InboundMessage): Promise<Seen | undefined>;
  /** The latest first. */
  outboxRows(limit: number, filter?: RowFilter): Promise<readonly OutboxRow[]>;
  outboxRow(id: number): Promise<OutboxRow | undefined>;
  /** By the platform's id of the sent message, the latest first. */
  outboxOfMessage(messageId: string, channel?: string): Promise<readonly OutboxRow[]>;
  outboxOf(inboxId: number): Promise<readonly OutboxRow[]>;
}

/** Changes of rows by an operator. The code that is working on a row gets its message elsewhere. */
export interface MessageDesk extends MessageLook {
  /**
   * Adds rows for the message of a row with an outcome, and for those that were part of its turn. If an earlier copy is open or
   * answered, returns that instead. Undefined when there is no such row. The old rows keep their outcomes.
   */
  runAgain(id: number): Promise<Again | undefined>;
  /**
   * Makes an unsent row ready to be sent: `unknown` when it may have arrived, so that it is labelled, or else `planned`.
   * Undefined when it is sent or does not exist.
   */
  sendAgain(id: number): Promise<OutboxRow | undefined>;
}

const MOST_FOUND = 20;
/** With `unsent`: every part of the answer was given up. */
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
