import type { Clock } from "../types/clock.ts";
import { runId, sessionKey } from "../types/ids.ts";
import type { OutboxChange, OutboxJournal, OutboxRow, PlannedReply } from "../types/journal.ts";
import type { Peer } from "../types/message.ts";
import type { OutboundPart, ReplyButton } from "../types/reply.ts";
import { count, countOr, json, jsonOr, text, textOr, word } from "./columns.ts";
import type { Commits } from "./commits.ts";
import type { Row, Statements } from "./sqlite.ts";

const STATES = ["planned", "sending", "sent", "unknown", "failed"] as const;
// A reply belongs to the session and the run that its message was claimed for.
const ROWS = `
  SELECT outbox.*, inbox.session_key, inbox.run_id FROM outbox LEFT JOIN inbox ON inbox.id = outbox.inbox_id`;
const OF_REPLY = `${ROWS} WHERE outbox.reply_key = ? ORDER BY outbox.part`;
const OF_INBOX = `${ROWS} WHERE outbox.inbox_id = ? ORDER BY outbox.id`;
const OF_RUN = `${ROWS} WHERE inbox.run_id = ? ORDER BY outbox.id`;
const OPEN = `${ROWS} WHERE outbox.state IN ('planned', 'sending', 'unknown') ORDER BY outbox.id`;
const INSERT = `
  INSERT INTO outbox (reply_key, part, inbox_id, target, body, reply_to, buttons, edit_of, created_at, state)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 'planned')`;
// What was sent stays sent, whatever a late timer says.
const MARK = `
  UPDATE outbox SET state = ?1, attempts = attempts + (?1 = 'sending'), message_id = COALESCE(?2, message_id), error = ?3
  WHERE id = ?4 AND state <> 'sent'`;
const NOTE = `
  INSERT INTO preview (inbox_id, target, message_id) VALUES (?, ?, ?)
  ON CONFLICT (inbox_id) DO UPDATE SET target = excluded.target, message_id = excluded.message_id`;

/** The first part answers `replyTo`, the last one carries the buttons, the first text one replaces the preview. */
export function createOutbox(commits: Commits, clock: Clock): OutboxJournal {
  return {
    plan: (reply) => commits.write((sql) => planReply(sql, reply, clock.now())),
    mark: (id, change) => commits.write((sql) => markRow(sql, id, change)),
    open: () => commits.read((sql) => sql.all(OPEN).map(toRow)),
    of: (inboxId) => commits.read((sql) => sql.all(OF_INBOX, inboxId).map(toRow)),
    ofRun: (run) => commits.read((sql) => sql.all(OF_RUN, run).map(toRow)),
    notePreview: (inboxId, to, messageId) =>
      commits.write((sql) => {
        sql.run(NOTE, inboxId, JSON.stringify(to), messageId);
      }),
    previewOf: (inboxId) =>
      commits.read((sql) => {
        const row = sql.one("SELECT message_id FROM preview WHERE inbox_id = ?", inboxId);
        return row && text(row, "message_id");
      }),
  };
}

function planReply(sql: Statements, reply: PlannedReply, at: number): readonly OutboxRow[] {
  const known = sql.all(OF_REPLY, reply.replyKey);
  if (known.length > 0) return known.map(toRow);
  const firstText = reply.parts.findIndex((part) => part.kind === "text");
  const last = reply.parts.length - 1;
  for (const [part, body] of reply.parts.entries()) {
    sql.run(
      INSERT,
      reply.replyKey,
      part,
      reply.inboxId ?? null,
      JSON.stringify(reply.to),
      JSON.stringify(body),
      (part === 0 ? reply.replyTo : undefined) ?? null,
      part === last && reply.buttons ? JSON.stringify(reply.buttons) : null,
      (part === firstText ? reply.editOf : undefined) ?? null,
      at,
    );
  }
  return sql.all(OF_REPLY, reply.replyKey).map(toRow);
}

function markRow(sql: Statements, id: number, change: OutboxChange): void {
  sql.run(MARK, change.state, change.messageId ?? null, change.error ?? null, id);
}

function toRow(row: Row): OutboxRow {
  const inboxId = countOr(row, "inbox_id");
  const key = textOr(row, "session_key");
  const run = textOr(row, "run_id");
  const replyTo = textOr(row, "reply_to");
  const buttons = jsonOr<readonly ReplyButton[]>(row, "buttons");
  const messageId = textOr(row, "message_id");
  const editOf = textOr(row, "edit_of");
  const error = textOr(row, "error");
  return {
    id: count(row, "id"),
    replyKey: text(row, "reply_key"),
    part: count(row, "part"),
    to: json<Peer>(row, "target"),
    body: json<OutboundPart>(row, "body"),
    state: word(row, "state", STATES),
    attempts: count(row, "attempts"),
    createdAt: count(row, "created_at"),
    ...(inboxId === undefined ? {} : { inboxId }),
    ...(key === undefined ? {} : { sessionKey: sessionKey(key) }),
    ...(run === undefined ? {} : { runId: runId(run) }),
    ...(replyTo === undefined ? {} : { replyTo }),
    ...(buttons === undefined ? {} : { buttons }),
    ...(messageId === undefined ? {} : { messageId }),
    ...(editOf === undefined ? {} : { editOf }),
    ...(error === undefined ? {} : { error }),
  };
}
