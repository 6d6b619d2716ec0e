import { defined } from "../../utils/defined.ts";
import { runId, sessionKey } from "../../types/ids.ts";
import type { AcceptedRow, InboxRow, Outcome } from "../../types/journal.ts";
import type { InboundMessage } from "../../types/chat/message.ts";
import { isFields } from "../../utils/fields.ts";
import { maskedJson } from "../../utils/secrets/mask-strings.ts";
import { agentIn, anyJson, count, countOr, textOr, word, wordOr } from "../database/columns.ts";
import { UNREADABLE } from "../database/counts.ts";
import { readInbound } from "./read-inbound.ts";
import type { Row, Statements } from "../database/sqlite.ts";

const STATES = ["accepted", "claimed", "done"] as const;
const REFUSALS = ["pair", "history", "drop"] as const;
const INSERT = `
  INSERT INTO inbox (message, state, accepted_at, again_of, reports_to, works_in) VALUES (?, 'accepted', ?, ?, ?, ?)`;
const SEEN_AGAIN = `
  UPDATE seen SET times = times + 1, last_at = ? WHERE channel = ? AND account = ? AND event_key = ?`;
const REMEMBER = "INSERT INTO seen (channel, account, event_key, inbox_id, at) VALUES (?, ?, ?, ?, ?)";
const SEEN = "SELECT inbox_id FROM seen WHERE channel = ? AND account = ? AND event_key = ?";
const ROW = "SELECT * FROM inbox WHERE id = ?";
const SET_ASIDE = "UPDATE inbox SET state = 'done', outcome = ?, done_at = ? WHERE id = ?";

/** Stores an event, unless it is known. The journal does not trust the types in an adapter's event. */
export function acceptOne(sql: Statements, offered: unknown, at: number): AcceptedRow {
  const { message, faults } = readInbound(offered, at);
  const more = faults.length === 0 ? {} : { faults };
  const { channel, account } = message.from;
  const seen = sql.one(SEEN, channel, account, message.eventKey);
  if (!seen) return { row: putMessage(sql, message, at), isNew: true, ...more };
  sql.run(SEEN_AGAIN, at, channel, account, message.eventKey);
  return { row: knownRow(sql, count(seen, "inbox_id"), message), isNew: false, ...more };
}

/** The row of an event by its dedupe key. */
export function findRow(sql: Statements, channel: string, account: string, eventKey: string): InboxRow | undefined {
  const seen = sql.one(SEEN, channel, account, eventKey);
  const row = seen && sql.one(ROW, count(seen, "inbox_id"));
  return row && toInboxRow(row);
}

/** A new row and its dedupe key; a message that cannot be read has ended with it. `againOf`: the row whose message is answered again. */
export function putMessage(sql: Statements, message: InboundMessage, at: number, againOf?: number): InboxRow {
  const { channel, account } = message.from;
  const { id } = sql.run(INSERT, JSON.stringify(message), at, againOf ?? null, ...sessionsOf(message));
  sql.run(REMEMBER, channel, account, message.eventKey, id, at);
  const again = againOf === undefined ? {} : { againOf };
  const row = { id, message, attempts: 0, acceptedAt: at, ...again };
  const outcome = unreadableOutcome(message);
  if (!outcome) return { ...row, state: "accepted" };
  sql.run(SET_ASIDE, maskedJson(outcome), at, id);
  return { ...row, state: "done", outcome, doneAt: at };
}

/** How a message ends that cannot be read; undefined for every other one. */
export const unreadableOutcome = ({ unreadable }: InboundMessage): Outcome | undefined =>
  unreadable && { kind: "dropped", why: `${UNREADABLE}${unreadable.why}` };

/**
 * Keys of the sessions to which the end of a message is announced, one after the other, and of the session of its work.
 * `reportsTo` is empty where nobody waits for both, and both are null where no message follows.
 */
function sessionsOf({ options }: InboundMessage): readonly [reportsTo: string | null, worksIn: string | null] {
  if (!options?.whenEnded) return [null, null];
  const isWork = options.subagent !== undefined || options.announce !== undefined;
  return isWork ? [sessionList(above(options.whenEnded)), options.sessionKey ?? null] : ["", null];
}

function above({ options }: InboundMessage): readonly string[] {
  const own = options?.sessionKey === undefined ? [] : [options.sessionKey];
  return options?.whenEnded ? [...own, ...above(options.whenEnded)] : own;
}

/** Keys as the column `reports_to` has them: each between line ends, which no key has. */
export const sessionList = (keys: readonly string[]): string => `\n${keys.join("\n")}\n`;

/** Only the key of a pruned row is left: its event is done, and its outcome is not known any more. */
function knownRow(sql: Statements, id: number, message: InboundMessage): InboxRow {
  const row = sql.one(ROW, id);
  return row ? toInboxRow(row) : { id, message, state: "done", attempts: 0 };
}

/**
 * Reads a row of the inbox. Never throws, whatever the row contains: a row that cannot be read must not keep others
 * from being read.
 */
export function toInboxRow(row: Row): InboxRow {
  const key = textOr(row, "session_key");
  const run = textOr(row, "run_id");
  const outcome = outcomeIn(row);
  const starts = numbersIn(row, "starts");
  return {
    id: count(row, "id"),
    message: readInbound(anyJson(row, "message"), count(row, "accepted_at")).message,
    state: word(row, "state", STATES),
    attempts: count(row, "attempts"),
    ...(key === undefined ? {} : { sessionKey: sessionKey(key) }),
    ...agentIn(row),
    ...(run === undefined ? {} : { runId: runId(run) }),
    ...(outcome === undefined ? {} : { outcome }),
    ...(starts === undefined ? {} : { starts }),
    ...defined({
      turnId: textOr(row, "turn_id"),
      acceptedAt: countOr(row, "accepted_at"),
      claimedAt: countOr(row, "claimed_at"),
      doneAt: countOr(row, "done_at"),
      againOf: countOr(row, "again_of"),
      refused: wordOr(row, "refused", REFUSALS),
    }),
  };
}

function outcomeIn(row: Row): Outcome | undefined {
  if (textOr(row, "outcome") === undefined) return undefined;
  const outcome = anyJson(row, "outcome");
  return isOutcome(outcome) ? outcome : { kind: "failed", why: `${UNREADABLE}its outcome` };
}

const isOutcome = (value: unknown): value is Outcome => isFields(value) && typeof value["kind"] === "string";

function numbersIn(row: Row, column: string): readonly number[] | undefined {
  const list = anyJson(row, column);
  return Array.isArray(list) && list.every((item) => typeof item === "number") ? list : undefined;
}
