import { runId, sessionKey } from "../../../types/ids.ts";
import type { InboxRow, Outcome } from "../../../types/journal.ts";
import type { InboundMessage } from "../../../types/chat/message.ts";
import { agentIn, count, countOr, given, json, jsonOr, textOr, word, wordOr } from "../columns.ts";
import type { Row, Statements } from "../sqlite.ts";

const STATES = ["accepted", "claimed", "done"] as const;
const REFUSALS = ["pair", "history", "drop"] as const;
const INSERT = `
  INSERT INTO inbox (message, state, accepted_at, again_of, reports_to, works_in) VALUES (?, 'accepted', ?, ?, ?, ?)`;
const SEEN_AGAIN = `
  UPDATE seen SET times = times + 1, last_at = ? WHERE channel = ? AND account = ? AND event_key = ?`;
const REMEMBER = "INSERT INTO seen (channel, account, event_key, inbox_id, at) VALUES (?, ?, ?, ?, ?)";
const SEEN = "SELECT inbox_id FROM seen WHERE channel = ? AND account = ? AND event_key = ?";
const ROW = "SELECT * FROM inbox WHERE id = ?";

/** Stores an event, unless it is known. */
export function acceptOne(sql: Statements, message: InboundMessage, at: number): { row: InboxRow; isNew: boolean } {
  const { channel, account } = message.from;
  const seen = sql.one(SEEN, channel, account, message.eventKey);
  if (!seen) return { row: putMessage(sql, message, at), isNew: true };
  sql.run(SEEN_AGAIN, at, channel, account, message.eventKey);
  return { row: knownRow(sql, count(seen, "inbox_id"), message), isNew: false };
}

/** The row of an event by its dedupe key. */
export function findRow(sql: Statements, channel: string, account: string, eventKey: string): InboxRow | undefined {
  const seen = sql.one(SEEN, channel, account, eventKey);
  const row = seen && sql.one(ROW, count(seen, "inbox_id"));
  return row && toInboxRow(row);
}

/** A new row and its dedupe key. `againOf`: the row whose message is answered again. */
export function putMessage(sql: Statements, message: InboundMessage, at: number, againOf?: number): InboxRow {
  const { channel, account } = message.from;
  const { id } = sql.run(INSERT, JSON.stringify(message), at, againOf ?? null, ...sessionsOf(message));
  sql.run(REMEMBER, channel, account, message.eventKey, id, at);
  const again = againOf === undefined ? {} : { againOf };
  return { id, message, state: "accepted", attempts: 0, acceptedAt: at, ...again };
}

/**
 * The sessions that are told of its end, one after the other, and the one in which it is worked on. The former are empty where nobody
 * waits for both, and null where nothing follows.
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

export function toInboxRow(row: Row): InboxRow {
  const key = textOr(row, "session_key");
  const run = textOr(row, "run_id");
  const outcome = jsonOr<Outcome>(row, "outcome");
  const starts = jsonOr<readonly number[]>(row, "starts");
  return {
    id: count(row, "id"),
    message: json<InboundMessage>(row, "message"),
    state: word(row, "state", STATES),
    attempts: count(row, "attempts"),
    ...(key === undefined ? {} : { sessionKey: sessionKey(key) }),
    ...agentIn(row),
    ...(run === undefined ? {} : { runId: runId(run) }),
    ...(outcome === undefined ? {} : { outcome }),
    ...(starts === undefined ? {} : { starts }),
    ...given({
      turnId: textOr(row, "turn_id"),
      acceptedAt: countOr(row, "accepted_at"),
      claimedAt: countOr(row, "claimed_at"),
      doneAt: countOr(row, "done_at"),
      againOf: countOr(row, "again_of"),
      refused: wordOr(row, "refused", REFUSALS),
    }),
  };
}
