import { count, countOr } from "./columns.ts";
import type { Statements } from "./sqlite.ts";

/** Counts of messages and replies by state. Times are epoch milliseconds. */
export interface JournalCounts {
  /** Messages without an outcome. */
  readonly openInbox: number;
  /** Time at which the oldest of these messages was accepted. */
  readonly oldestInboxAt?: number;
  /** Unclaimed messages without an outcome, and when the oldest was accepted. */
  readonly unclaimedInbox: number;
  readonly oldestUnclaimedAt?: number;
  /** Messages of the last day that were too old to be answered after an outage. */
  readonly staleLastDay: number;
  /** Messages of the last week whose shape was wrong. */
  readonly unreadableLastWeek: number;
  /** Chunks that are neither sent nor failed. */
  readonly openOutbox: number;
  readonly oldestOutboxAt?: number;
  /** Chunks that may or may not have arrived. */
  readonly unknownOutbox: number;
  /** Chunks of the last day that were given up. */
  readonly failedOutboxLastDay: number;
}

/**
 * The start of `why` in the outcome of a message that an outage made too old. The journal's index `inbox_stale` contains the
 * same text.
 */
export const STALE = "stale: ";

/** The start of `why` in the outcome of a message of a wrong shape. The journal's index `inbox_unreadable` contains the same text. */
export const UNREADABLE = "unreadable: ";

/** The `why` of a row that an operator ended. */
export const BY_OPERATOR = "by the operator";

const DAY_MS = 86_400_000;
// Rows of older versions have only the time at which their message was received.
const INBOX = `
  SELECT count(*) AS n, min(coalesce(accepted_at, json_extract(message, '$.receivedAt'))) AS at FROM inbox`;
const STALE_ROWS = `
  SELECT count(*) AS n FROM inbox
  WHERE state = 'done' AND done_at >= ? AND instr(outcome, '"why":"${STALE}') > 0`;
const UNREADABLE_ROWS = `
  SELECT count(*) AS n FROM inbox
  WHERE state = 'done' AND done_at >= ? AND instr(outcome, '"why":"${UNREADABLE}') > 0`;
const OUTBOX = `
  SELECT count(*) AS n, sum(state = 'unknown') AS unknown, min(created_at) AS at FROM outbox
  WHERE state IN ('planned', 'sending', 'unknown')`;
const FAILED =
  "SELECT count(*) AS n FROM outbox WHERE state = 'failed' AND created_at >= ? AND coalesce(error, '') <> ?";

/** Reads only indexes, so its work grows with the open, stale and failed rows and not with the journal. May be called often. */
export function readCounts(sql: Pick<Statements, "one">, now: number): JournalCounts {
  const inbox = sql.one(`${INBOX} WHERE state <> 'done'`) ?? {};
  const unclaimed = sql.one(`${INBOX} WHERE state <> 'done' AND state = 'accepted'`) ?? {};
  const outbox = sql.one(OUTBOX) ?? {};
  const since = now - DAY_MS;
  const oldestInboxAt = countOr(inbox, "at");
  const oldestUnclaimedAt = countOr(unclaimed, "at");
  const oldestOutboxAt = countOr(outbox, "at");
  return {
    openInbox: count(inbox, "n"),
    ...(oldestInboxAt !== undefined && { oldestInboxAt }),
    unclaimedInbox: count(unclaimed, "n"),
    ...(oldestUnclaimedAt !== undefined && { oldestUnclaimedAt }),
    staleLastDay: count(sql.one(STALE_ROWS, since), "n"),
    unreadableLastWeek: count(sql.one(UNREADABLE_ROWS, now - 7 * DAY_MS), "n"),
    openOutbox: count(outbox, "n"),
    ...(oldestOutboxAt !== undefined && { oldestOutboxAt }),
    unknownOutbox: count(outbox, "unknown"),
    failedOutboxLastDay: count(sql.one(FAILED, since, BY_OPERATOR), "n"),
  };
}
