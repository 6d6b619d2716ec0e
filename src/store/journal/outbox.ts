import type { Clock } from "../../types/clock.ts";
import { defined } from "../../utils/defined.ts";
import { accountId, channelId, runId, sessionKey } from "../../types/ids.ts";
import type { OutboxChange, OutboxJournal, OutboxRow, PlannedReply, PlannedRow } from "../../types/journal.ts";
import type { Peer } from "../../types/chat/message.ts";
import type { OutboundPart, ReplyButton } from "../../types/chat/reply.ts";
import { Secret } from "../../types/secret.ts";
import { isFields } from "../../utils/fields.ts";
import { anyJson, count, countOr, text, textOr, word, wordOr } from "../database/columns.ts";
import { readPeer } from "./read-inbound.ts";
import type { Commits } from "../database/commits.ts";
import type { Params, Row, Statements } from "../database/sqlite.ts";
import { hash, randomUUID } from "node:crypto";

const JOURNAL_ID = "journal:id";

/** A message to a platform, as far as its name goes. */
interface Named {
  readonly to: Peer;
  /** The event key of the message that is answered, or the key of a reply that answers none. */
  readonly source: string;
  /** Place of the message in the reply. */
  readonly name: string;
}

/**
 * The name by which a platform recognises a message that it is sent again. Row numbers begin anew in a new journal and repeat in a
 * restored one, so the name consists of the journal's id, the account, the chat and the event that is answered.
 */
const sendKeyOf = (journalId: string, { to, source, name }: Named): string =>
  hash("sha256", JSON.stringify([journalId, to.channel, to.account, to.chat.id, to.thread, source, name]), "base64url");

/** The random id of a journal, which is made when it is first opened for writing. */
export function journalId(commits: Commits): Promise<string> {
  return commits.write((sql) => {
    sql.run("INSERT OR IGNORE INTO kept (key, value) VALUES (?, ?)", JOURNAL_ID, randomUUID());
    const row = sql.one("SELECT value FROM kept WHERE key = ?", JOURNAL_ID);
    return row ? text(row, "value") : "";
  });
}

const STATES = ["planned", "sending", "sent", "unknown", "failed"] as const;
const GAPS = ["late", "unknown", "refused", "unfit"] as const;
// A reply belongs to the session and the run for which its message was claimed.
export const OUTBOX_ROWS = `
  SELECT outbox.*, inbox.session_key, inbox.run_id FROM outbox LEFT JOIN inbox ON inbox.id = outbox.inbox_id`;
const OF_REPLY = `${OUTBOX_ROWS} WHERE outbox.reply_key = ? ORDER BY outbox.part`;
const OF_INBOX = `${OUTBOX_ROWS} WHERE outbox.inbox_id = ? ORDER BY outbox.id`;
const OF_RUN = `${OUTBOX_ROWS} WHERE inbox.run_id = ? ORDER BY outbox.id`;
const OPEN = `${OUTBOX_ROWS} WHERE outbox.state IN ('planned', 'sending', 'unknown') ORDER BY outbox.id`;
const UNANSWERED = `
  ${OUTBOX_ROWS} WHERE outbox.reply_key GLOB 'approval:*' AND outbox.reply_key NOT GLOB '*:end' AND outbox.created_at > ?
    AND outbox.state <> 'failed'
    AND NOT EXISTS (SELECT 1 FROM outbox AS ended WHERE ended.reply_key = outbox.reply_key || ':end')
  ORDER BY outbox.id`;
const QUESTION_MS = 3_600_000;
const BY_MESSAGE = "SELECT target FROM outbox WHERE message_id = ?";
const WITH_BUTTONS = `
  SELECT target, buttons FROM outbox WHERE buttons IS NOT NULL AND message_id = ?
  UNION ALL
  SELECT target, buttons FROM outbox
    WHERE buttons IS NOT NULL AND message_id IS NULL
      AND (state IN ('planned', 'sending', 'unknown') OR state = 'failed' AND reply_key GLOB 'approval:*')`;
const UNREPORTED_GAPS = `${OUTBOX_ROWS} WHERE outbox.gap IS NOT NULL AND outbox.state = 'failed' ORDER BY outbox.id`;
const IS_PLANNED = "SELECT 1 FROM outbox WHERE reply_key = ? LIMIT 1";
const MARK_REPORTED = "UPDATE outbox SET gap = NULL WHERE id = ?";
const INSERT = `
  INSERT INTO outbox (reply_key, part, inbox_id, target, body, reply_to, buttons, edit_of, created_at, is_repeat, silent, state, attempts, answers, send_key)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
const EVENT_KEY = "SELECT message ->> '$.eventKey' AS event_key FROM inbox WHERE id = ?";
// A tool's post is not part of the answer: the model learns its outcome.
const IS_OF_TOOL = "outbox.reply_key GLOB 'in:*:tool:*'";
// Each streamed block is a separate reply.
const HAS_OTHERS = `
  EXISTS (SELECT 1 FROM outbox AS other WHERE other.reply_key = outbox.reply_key AND other.part <> outbox.part)
  OR NOT ${IS_OF_TOOL} AND EXISTS (
    SELECT 1 FROM outbox AS other WHERE other.inbox_id = outbox.inbox_id AND other.id <> outbox.id
      AND other.target = outbox.target AND other.state <> 'failed')`;
// A sent row stays sent, whatever a late timer reports.
const MARK = `
  UPDATE outbox SET state = ?1, attempts = attempts + (?1 = 'sending'), message_id = COALESCE(?2, message_id), error = ?3,
    was_unknown = was_unknown OR ?1 = 'unknown' OR (?7 AND state = 'sending'), is_repeat = is_repeat OR ?5,
    sent_at = CASE WHEN ?1 = 'sent' THEN ?6 ELSE sent_at END,
    gap = CASE ?8 WHEN 'refused' THEN CASE WHEN ${HAS_OTHERS} THEN ?8 END
      WHEN 'unfit' THEN CASE WHEN NOT ${IS_OF_TOOL} THEN ?8 END ELSE ?8 END
  WHERE id = ?4 AND state <> 'sent'`;
const NOTE = `
  INSERT INTO preview (inbox_id, target, message_id) VALUES (?, ?, ?)
  ON CONFLICT (inbox_id) DO UPDATE SET target = excluded.target, message_id = excluded.message_id`;

const NOTE_LENGTH = `
  INSERT INTO preview_length (inbox_id, characters) VALUES (?, ?)
  ON CONFLICT (inbox_id) DO UPDATE SET characters = excluded.characters`;

/**
 * The outbox of a journal. With `quoteAll` every part answers `replyTo`, or else only the first. The last part has the
 * buttons, and the first text replaces the preview.
 */
export function createOutbox(commits: Commits, clock: Clock, journalId: string): OutboxJournal {
  return {
    plan: (reply, begin) => commits.write((sql) => planReply(sql, reply, { at: clock.now(), begin, journalId })),
    previewKey: (to, eventKey) => sendKeyOf(journalId, { to, source: eventKey, name: "preview" }),
    mark: (id, change) => commits.write((sql) => markRow(sql, id, change, clock.now())),
    open: () => commits.write((sql) => openRows(sql, clock.now())),
    unansweredQuestions: () => commits.read((sql) => sql.all(UNANSWERED, clock.now() - QUESTION_MS).map(toOutboxRow)),
    unreportedGaps: () => commits.read((sql) => sql.all(UNREPORTED_GAPS).map(toOutboxRow)),
    of: (inboxId) => commits.read((sql) => sql.all(OF_INBOX, inboxId).map(toOutboxRow)),
    ofRun: (run) => commits.read((sql) => sql.all(OF_RUN, run).map(toOutboxRow)),
    chatsOf: (of, messageId, command) =>
      commits.read((sql) =>
        rowsWith(sql, messageId, command)
          .flatMap((row) => readPeer(anyJson(row, "target")) ?? [])
          .filter(({ channel, account }) => channel === of.channel && account === of.account),
      ),
    notePreview: (inboxId, to, messageId) =>
      commits.write((sql) => {
        sql.run(NOTE, inboxId, JSON.stringify(to), messageId);
      }),
    forgetPreview: (inboxId) =>
      commits.write((sql) => {
        sql.run("DELETE FROM preview WHERE inbox_id = ?", inboxId);
      }),
    previewOf: (inboxId) =>
      commits.read((sql) => {
        const row = sql.one("SELECT message_id FROM preview WHERE inbox_id = ?", inboxId);
        return row && text(row, "message_id");
      }),
    notePreviewLength: (inboxId, characters) =>
      commits.write((sql) => {
        sql.run(NOTE_LENGTH, inboxId, characters);
      }),
    previewLengthOf: (inboxId) =>
      commits.read((sql) => {
        const row = sql.one("SELECT characters FROM preview_length WHERE inbox_id = ?", inboxId);
        return row ? count(row, "characters") : 0;
      }),
  };
}

function rowsWith(sql: Statements, messageId: string, command: string | undefined): readonly Row[] {
  if (command === undefined) return sql.all(BY_MESSAGE, messageId);
  const hasIt = (row: Row) => buttonsIn(row)?.some((one) => one.command === command) === true;
  return sql.all(WITH_BUTTONS, messageId).filter(hasIt);
}

interface Planning {
  readonly at: number;
  readonly begin: "now" | undefined;
  readonly journalId: string;
}

function planReply(sql: Statements, reply: PlannedReply, how: Planning): readonly PlannedRow[] {
  if (sql.one(IS_PLANNED, reply.replyKey)) return sql.all(OF_REPLY, reply.replyKey).map(toOutboxRow);
  markReported(sql, reply);
  const reason = reasonOf(sql, reply);
  for (const part of reply.parts.keys()) {
    const named = { to: reply.to, source: reason.source, name: `${reason.name}#${part}` };
    sql.run(INSERT, ...columnsOf(reply, part, how), sendKeyOf(how.journalId, named));
  }
  const rows = sql.all(OF_REPLY, reply.replyKey).map(toOutboxRow);
  return how.begin === "now" ? rows.map((row) => (row.part === 0 ? { ...row, isBegun: true } : row)) : rows;
}

/** The event that a reply answers, and the reply's name beside other replies to that event. */
function reasonOf(sql: Statements, { inboxId, replyKey }: PlannedReply): { source: string; name: string } {
  const row = inboxId === undefined ? undefined : sql.one(EVENT_KEY, inboxId);
  const eventKey = row && textOr(row, "event_key");
  if (eventKey === undefined) return { source: replyKey, name: "" };
  return { source: eventKey, name: replyKey.replace(`in:${inboxId}`, "in") };
}

/** The values of `INSERT` before the last one. */
function columnsOf(reply: PlannedReply, part: number, { at, begin }: Planning): Params {
  const { parts, buttons, replyTo, editOf } = reply;
  const isFirst = part === 0;
  const isLast = part === parts.length - 1;
  const isBegun = isFirst && begin === "now";
  const isFirstText = part === parts.findIndex(({ kind }) => kind === "text");
  return [
    reply.replyKey,
    part,
    reply.inboxId ?? null,
    JSON.stringify(reply.to),
    JSON.stringify(parts[part]),
    (isFirst || reply.quoteAll === true ? replyTo : undefined) ?? null,
    isLast && buttons ? JSON.stringify(buttons) : null,
    (isFirstText ? editOf : undefined) ?? null,
    at,
    Number(isFirst && reply.isRepeat === true),
    Number(reply.silent === true),
    isBegun ? "sending" : "planned",
    Number(isBegun),
    reply.answers ?? null,
  ];
}

function markReported(sql: Statements, { reportsGapsOf = [] }: PlannedReply): void {
  for (const id of reportsGapsOf) sql.run(MARK_REPORTED, id);
}

function markRow(sql: Statements, id: number, change: OutboxChange, at: number): void {
  const { state, messageId = null, error = null, isRepeat = false, isGivenUp = false, gap = null } = change;
  sql.run(
    MARK,
    state,
    messageId,
    error === null ? null : Secret.mask(error),
    id,
    Number(isRepeat),
    at,
    Number(isGivenUp),
    gap,
  );
}

/** A row that nobody can read is given up, so that it keeps no other one from being sent. */
function openRows(sql: Statements, now: number): readonly OutboxRow[] {
  return sql.all(OPEN).flatMap((row) => {
    if (partIn(row) && readPeer(anyJson(row, "target"))) return [toOutboxRow(row)];
    markRow(
      sql,
      count(row, "id"),
      { state: "failed", error: "the journal's row cannot be read", isGivenUp: true },
      now,
    );
    return [];
  });
}

const NOWHERE: Peer = {
  channel: channelId("unknown"),
  account: accountId("unknown"),
  chat: { kind: "direct", id: "unknown" },
};
const NOTHING: OutboundPart = { kind: "text", body: "", format: "plain", plain: "" };

function partIn(row: Row): OutboundPart | undefined {
  const part = anyJson(row, "body");
  return isPart(part) ? part : undefined;
}

function isPart(value: unknown): value is OutboundPart {
  if (!isFields(value)) return false;
  const { kind, body, plain, media, more = [] } = value;
  if (kind === "text") return typeof body === "string" && typeof plain === "string";
  return kind === "media" && isFields(media) && isFields(media["source"]) && Array.isArray(more);
}

function buttonsIn(row: Row): readonly ReplyButton[] | undefined {
  const list = anyJson(row, "buttons");
  return Array.isArray(list) ? list.filter(isButton) : undefined;
}

const isButton = (value: unknown): value is ReplyButton =>
  isFields(value) && typeof value["label"] === "string" && typeof value["command"] === "string";

/** Reads a row of the outbox. Never throws, whatever the row contains. */
export function toOutboxRow(row: Row): OutboxRow {
  const key = textOr(row, "session_key");
  const run = textOr(row, "run_id");
  return {
    id: count(row, "id"),
    replyKey: text(row, "reply_key"),
    // A row of a version without this column keeps the name under which it may have been sent.
    sendKey: textOr(row, "send_key") ?? `${text(row, "reply_key")}#${count(row, "part")}`,
    part: count(row, "part"),
    to: readPeer(anyJson(row, "target")) ?? NOWHERE,
    body: partIn(row) ?? NOTHING,
    state: word(row, "state", STATES),
    attempts: count(row, "attempts"),
    createdAt: count(row, "created_at"),
    ...(key === undefined ? {} : { sessionKey: sessionKey(key) }),
    ...(run === undefined ? {} : { runId: runId(run) }),
    ...defined({
      inboxId: countOr(row, "inbox_id"),
      replyTo: textOr(row, "reply_to"),
      answers: textOr(row, "answers"),
      buttons: buttonsIn(row),
      messageId: textOr(row, "message_id"),
      editOf: textOr(row, "edit_of"),
      error: textOr(row, "error"),
      sentAt: countOr(row, "sent_at"),
      retriedAt: countOr(row, "retried_at"),
      gap: wordOr(row, "gap", GAPS),
    }),
    ...(count(row, "is_repeat") === 1 && { isRepeat: true }),
    ...(count(row, "silent") === 1 && { silent: true }),
  };
}
