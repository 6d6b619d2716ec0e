import { runId, sessionKey } from "../types/ids.ts";
import type { Clock } from "../types/clock.ts";
import type { Claim, Inbox, InboxRow, Outcome } from "../types/journal.ts";
import type { InboundMessage } from "../types/message.ts";
import { count, json, jsonOr, textOr, word } from "./columns.ts";
import type { Commits } from "./commits.ts";
import type { Row, Statements } from "./sqlite.ts";

const STATES = ["accepted", "claimed", "done"] as const;
const INSERT = "INSERT INTO inbox (message, state) VALUES (?, 'accepted')";
const REMEMBER = "INSERT INTO seen (channel, account, event_key, inbox_id, at) VALUES (?, ?, ?, ?, ?)";
const SEEN = "SELECT inbox_id FROM seen WHERE channel = ? AND account = ? AND event_key = ?";
const ROW = "SELECT * FROM inbox WHERE id = ?";
const OPEN = "SELECT * FROM inbox WHERE state <> 'done' ORDER BY id";
const OF_RUN = "SELECT * FROM inbox WHERE run_id = ? ORDER BY id";
const CLAIM = `
  UPDATE inbox SET state = 'claimed', session_key = ?, run_id = ?, turn_id = ?,
    attempts = attempts + (claimed_boot IS NOT ?), claimed_boot = ?
  WHERE id = ? AND state <> 'done'`;
// The first outcome stands: a message ends once.
const FINISH = "UPDATE inbox SET state = 'done', outcome = ?, done_at = ? WHERE id = ? AND state <> 'done'";

export function createInbox(commits: Commits, boot: { bootId: string; clock: Clock }): Inbox {
  const { bootId, clock } = boot;
  return {
    accept: (messages) => commits.write((sql) => messages.map((message) => acceptOne(sql, message, clock.now()))),
    claim: (ids, claim) => commits.write((sql) => claimRows(sql, ids, { ...claim, bootId })),
    finish: (ids, outcome) => commits.write((sql) => finishRows(sql, ids, { outcome, at: clock.now() })),
    open: () => commits.read((sql) => sql.all(OPEN).map(toRow)),
    find: (channel, account, eventKey) =>
      commits.read((sql) => {
        const seen = sql.one(SEEN, channel, account, eventKey);
        const row = seen && sql.one(ROW, count(seen, "inbox_id"));
        return row && toRow(row);
      }),
    ofRun: (run) => commits.read((sql) => sql.all(OF_RUN, run).map(toRow)),
  };
}

function acceptOne(sql: Statements, message: InboundMessage, at: number): { row: InboxRow; isNew: boolean } {
  const { channel, account } = message.from;
  const seen = sql.one(SEEN, channel, account, message.eventKey);
  if (seen) return { row: knownRow(sql, count(seen, "inbox_id"), message), isNew: false };
  const { id } = sql.run(INSERT, JSON.stringify(message));
  sql.run(REMEMBER, channel, account, message.eventKey, id, at);
  return { row: { id, message, state: "accepted", attempts: 0 }, isNew: true };
}

/** A row that was pruned lives on as its key: the event is done, how is forgotten. */
function knownRow(sql: Statements, id: number, message: InboundMessage): InboxRow {
  const row = sql.one(ROW, id);
  return row ? toRow(row) : { id, message, state: "done", attempts: 0 };
}

function claimRows(sql: Statements, ids: readonly number[], claim: Claim & { bootId: string }): void {
  for (const id of ids) {
    sql.run(CLAIM, claim.sessionKey, claim.runId, claim.turnId, claim.bootId, claim.bootId, id);
  }
}

function finishRows(sql: Statements, ids: readonly number[], end: { outcome: Outcome; at: number }): void {
  for (const id of ids) sql.run(FINISH, JSON.stringify(end.outcome), end.at, id);
}

function toRow(row: Row): InboxRow {
  const key = textOr(row, "session_key");
  const run = textOr(row, "run_id");
  const turnId = textOr(row, "turn_id");
  const outcome = jsonOr<Outcome>(row, "outcome");
  return {
    id: count(row, "id"),
    message: json<InboundMessage>(row, "message"),
    state: word(row, "state", STATES),
    attempts: count(row, "attempts"),
    ...(key === undefined ? {} : { sessionKey: sessionKey(key) }),
    ...(run === undefined ? {} : { runId: runId(run) }),
    ...(turnId === undefined ? {} : { turnId }),
    ...(outcome === undefined ? {} : { outcome }),
  };
}
