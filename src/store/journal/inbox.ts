import { runId, sessionKey } from "../../types/ids.ts";
import type { Clock } from "../../types/clock.ts";
import type { Claim, Inbox, InboxRow, Outcome, Refusal, RowChange, Withdrawn } from "../../types/journal.ts";
import type { InboundMessage } from "../../types/chat/message.ts";
import { KeyedFeed } from "../../utils/feed.ts";
import { maskedJson } from "../../utils/secrets/mask-strings.ts";
import { count, countOr, given, json, jsonOr, textOr, word, wordOr } from "./columns.ts";
import type { Commits } from "./commits.ts";
import { putRun } from "./ledger.ts";
import type { Row, Statements } from "./sqlite.ts";

const STATES = ["accepted", "claimed", "done"] as const;
const REFUSALS = ["pair", "history", "drop"] as const;
const INSERT = "INSERT INTO inbox (message, state, accepted_at, again_of) VALUES (?, 'accepted', ?, ?)";
const SEEN_AGAIN = `
  UPDATE seen SET times = times + 1, last_at = ? WHERE channel = ? AND account = ? AND event_key = ?`;
const REMEMBER = "INSERT INTO seen (channel, account, event_key, inbox_id, at) VALUES (?, ?, ?, ?, ?)";
const SEEN = "SELECT inbox_id FROM seen WHERE channel = ? AND account = ? AND event_key = ?";
const ROW = "SELECT * FROM inbox WHERE id = ?";
const OPEN = "SELECT * FROM inbox WHERE state <> 'done' ORDER BY id";
const OF_RUN = "SELECT * FROM inbox WHERE run_id = ? ORDER BY id";
const CLAIMED_BY = "SELECT id FROM inbox WHERE id = ? AND claimed_boot = ?";
const CLAIM = `
  UPDATE inbox SET state = 'claimed', session_key = ?1, run_id = ?2, turn_id = ?3,
    attempts = attempts + (claimed_boot IS NOT ?4),
    starts = CASE WHEN claimed_boot IS NOT ?4 THEN json_insert(coalesce(starts, '[]'), '$[#]', ?5) ELSE starts END,
    claimed_boot = ?4, claimed_at = ?5
  WHERE id = ?6 AND state <> 'done'`;
const BEGIN = `
  UPDATE inbox SET
    attempts = attempts + (claimed_boot IS NOT ?1),
    starts = CASE WHEN claimed_boot IS NOT ?1 THEN json_insert(coalesce(starts, '[]'), '$[#]', ?2) ELSE starts END,
    claimed_boot = ?1
  WHERE id = ?3 AND state <> 'done'`;
// A message ends once, so only the first outcome counts.
const FINISH =
  "UPDATE inbox SET state = 'done', outcome = ?, done_at = ?, refused = ? WHERE id = ? AND state <> 'done'";

// Messages that joined the run of this one, which failed or was stopped, got no answer: they end as part of its turn.
const SHARE_END = `
  UPDATE inbox SET outcome = json_object('kind', 'merged', 'into', head.id)
  FROM (
    SELECT id, run_id FROM inbox
    WHERE run_id = (SELECT run_id FROM inbox WHERE id = ?) AND outcome ->> 'kind' IN ('failed', 'aborted')
    ORDER BY id LIMIT 1) AS head
  WHERE inbox.run_id = head.run_id AND inbox.outcome ->> 'kind' = 'steered'`;

export function createInbox(commits: Commits, boot: { bootId: string; clock: Clock }): Inbox {
  const { bootId, clock } = boot;
  const changes = new KeyedFeed<number, RowChange>();
  const reported = async <T>(ids: readonly number[], write: Promise<T>, change: RowChange = {}): Promise<T> => {
    const result = await write;
    for (const id of ids) changes.publish(id, change);
    return result;
  };
  const claimed = (ids: readonly number[], claim: Claim) => (sql: Statements) =>
    claimRows(sql, ids, { ...claim, bootId, at: clock.now() });
  return {
    accept: (messages) => commits.write((sql) => messages.map((message) => acceptOne(sql, message, clock.now()))),
    acceptAhead: (messages) =>
      commits.writeAhead((sql) => messages.map((message) => acceptOne(sql, message, clock.now()))),
    claim: (ids, claim) => reported(ids, commits.write(claimed(ids, claim)), { runId: claim.runId }),
    claimAhead: (ids, claim) => reported(ids, commits.writeAhead(claimed(ids, claim)), { runId: claim.runId }),
    synced: () => commits.synced(),
    begin: (id) => commits.write((sql) => sql.run(BEGIN, bootId, clock.now(), id).changes > 0),
    withdraw: (id, outcome) =>
      reported(
        [id],
        commits.write((sql) => withdrawRow(sql, id, { outcome, bootId, at: clock.now() })),
      ),
    finish: (ids, outcome, refused) =>
      reported(
        ids,
        commits.write((sql) => finishRows(sql, ids, { outcome, refused, at: clock.now() })),
      ),
    finishTurn: (ids, outcome) =>
      reported(
        ids,
        commits.write((sql) => finishTurn(sql, ids, { outcome, at: clock.now() })),
      ),
    recordTurn: (run, ids, outcome) => {
      const write = (sql: Statements) => {
        putRun(sql, run);
        if (outcome !== undefined) finishTurn(sql, ids, { outcome, at: clock.now() });
      };
      return reported(ids, commits.writeAhead(write));
    },
    ...reads(commits, changes),
  };
}

function reads(
  commits: Commits,
  changes: KeyedFeed<number, RowChange>,
): Pick<Inbox, "changes" | "open" | "find" | "ofRun"> {
  return {
    changes: (id, signal, told) =>
      changes.watch(id, signal, (change) => {
        told?.(change);
        return true;
      }),
    open: () => commits.read((sql) => sql.all(OPEN).map(toInboxRow)),
    find: (channel, account, eventKey) =>
      commits.read((sql) => {
        const seen = sql.one(SEEN, channel, account, eventKey);
        const row = seen && sql.one(ROW, count(seen, "inbox_id"));
        return row && toInboxRow(row);
      }),
    ofRun: (run) => commits.read((sql) => sql.all(OF_RUN, run).map(toInboxRow)),
  };
}

function acceptOne(sql: Statements, message: InboundMessage, at: number): { row: InboxRow; isNew: boolean } {
  const { channel, account } = message.from;
  const seen = sql.one(SEEN, channel, account, message.eventKey);
  if (!seen) return { row: putMessage(sql, message, at), isNew: true };
  sql.run(SEEN_AGAIN, at, channel, account, message.eventKey);
  return { row: knownRow(sql, count(seen, "inbox_id"), message), isNew: false };
}

/** A new row and its dedupe key. `againOf`: the row whose message is answered again. */
export function putMessage(sql: Statements, message: InboundMessage, at: number, againOf?: number): InboxRow {
  const { channel, account } = message.from;
  const { id } = sql.run(INSERT, JSON.stringify(message), at, againOf ?? null);
  sql.run(REMEMBER, channel, account, message.eventKey, id, at);
  const again = againOf === undefined ? {} : { againOf };
  return { id, message, state: "accepted", attempts: 0, acceptedAt: at, ...again };
}

/** Only the key of a pruned row is left: its event is done, and its outcome is not known any more. */
function knownRow(sql: Statements, id: number, message: InboundMessage): InboxRow {
  const row = sql.one(ROW, id);
  return row ? toInboxRow(row) : { id, message, state: "done", attempts: 0 };
}

function claimRows(
  sql: Statements,
  ids: readonly number[],
  { sessionKey: key, runId: run, turnId, bootId, at }: Claim & { bootId: string; at: number },
): readonly number[] {
  return ids.filter((id) => sql.run(CLAIM, key, run, turnId, bootId, at, id).changes > 0);
}

interface End {
  readonly outcome: Outcome;
  readonly refused: Refusal | undefined;
  readonly at: number;
}

function finishRows(sql: Statements, ids: readonly number[], { outcome, refused, at }: End): void {
  for (const id of ids) sql.run(FINISH, maskedJson(outcome), at, refused ?? null, id);
  // Its run may have ended before.
  if (outcome.kind === "steered") for (const id of ids) shareEnd(sql, id);
}

const shareEnd = (sql: Statements, id: number): void => void sql.run(SHARE_END, id);

function withdrawRow(
  sql: Statements,
  id: number,
  { outcome, bootId, at }: { readonly outcome: Outcome; readonly bootId: string; readonly at: number },
): Withdrawn {
  const isBegun = sql.one(CLAIMED_BY, id, bootId) !== undefined;
  if (sql.run(FINISH, maskedJson(outcome), at, null, id).changes === 0) return "ended";
  return isBegun ? "begun" : "untouched";
}

function finishTurn(sql: Statements, ids: readonly number[], { outcome, at }: Omit<End, "refused">): void {
  const end = (id: number, how: Outcome) => sql.run(FINISH, maskedJson(how), at, null, id).changes > 0;
  const head = ids.findIndex((id) => end(id, outcome));
  const into = ids[head];
  if (into === undefined) return;
  for (const id of ids.slice(head + 1)) end(id, { kind: "merged", into });
  if (outcome.kind === "failed" || outcome.kind === "aborted") shareEnd(sql, into);
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
