import { setImmediate } from "node:timers/promises";
import { count } from "../database/columns.ts";
import type { Commits } from "../database/commits.ts";
import type { Params, Statements } from "../database/sqlite.ts";
import { StepSize } from "../step-size.ts";

/** How long the journal keeps rows. Open rows stay without a limit. */
export interface Keep {
  /** Days of finished messages, replies and runs. */
  readonly rowsDays?: number | undefined;
  /** Days of messages that were not let in. */
  readonly strangersDays?: number | undefined;
  /** Days of the keys by which an event is recognised that a platform offers again. */
  readonly dedupeDays?: number | undefined;
  /** Bytes in use. Above it, rows older than a day are removed before their time. */
  readonly maxBytes?: number | undefined;
}

const DAY_MS = 86_400_000;
const ROWS_DAYS = 30;
const STRANGERS_DAYS = 7;
const KEYS_DAYS = 400;
/** Signal keeps undelivered messages for 45 days, WhatsApp for 30. No platform offers an event later. */
export const LEAST_KEYS_DAYS = 60;

/** Removes rows whose time is over, in small steps, between which other writes can happen. Returns how many were removed. */
export async function pruneJournal(commits: Commits, now: number, keep: Keep = {}): Promise<number> {
  const { rowsDays = ROWS_DAYS, strangersDays = STRANGERS_DAYS, dedupeDays = KEYS_DAYS, maxBytes } = keep;
  const keysDays = Math.max(LEAST_KEYS_DAYS, rowsDays, dedupeDays);
  const round = async (days: number) => {
    const before = now - days * DAY_MS;
    const limits: Limits = {
      strangers: now - Math.min(days, strangersDays) * DAY_MS,
      rows: before,
      texts: before - DAY_MS,
      keys: now - keysDays * DAY_MS,
    };
    let removed = 0;
    for (const step of STEPS) removed += await removeAll(commits, step, limits[step.of]);
    return removed;
  };
  let removed = await round(rowsDays);
  for (let days = Math.floor(rowsDays / 2); maxBytes !== undefined && days >= 1; days = Math.floor(days / 2)) {
    if ((await commits.read(bytesInUse)) <= maxBytes) break;
    removed += await round(days);
  }
  return removed;
}

/** Rows that one transaction removes, and how long its statements should take. */
const STEP = { least: 20, most: 1000, ms: 1.5 };

/** Rows from before this epoch millisecond are removed. */
interface Limits {
  readonly strangers: number;
  readonly rows: number;
  readonly texts: number;
  readonly keys: number;
}

interface Step {
  readonly of: keyof Limits;
  /** Removes at most `limit` older rows, which it finds by an index. */
  remove(sql: Statements, before: number, limit: number): number;
}

const removeBy = (of: keyof Limits, statement: string): Step => ({
  of,
  remove: (sql, before, limit) => sql.run(statement, before, limit).changes,
});

const STRANGERS = `
  SELECT id FROM inbox WHERE state = 'done' AND refused IS NOT NULL AND done_at < ? ORDER BY done_at LIMIT ?`;
const FINISHED = `SELECT id FROM inbox WHERE state = 'done' AND done_at < ? ORDER BY done_at LIMIT ?`;

/**
 * Steps in their order: a reply stays at least as long as its message, because it would be sent again if it were
 * planned again.
 */
const STEPS: readonly Step[] = [
  { of: "strangers", remove: (sql, before, limit) => removeInbox(sql, STRANGERS, [before, limit]) },
  removeBy(
    "rows",
    `DELETE FROM outbox WHERE id IN (
      SELECT id FROM outbox WHERE state IN ('sent', 'failed') AND max(created_at, coalesce(retried_at, 0)) < ?
        AND NOT EXISTS (SELECT 1 FROM inbox WHERE inbox.id = outbox.inbox_id AND inbox.state <> 'done')
      LIMIT ?)`,
  ),
  { of: "rows", remove: (sql, before, limit) => removeInbox(sql, FINISHED, [before, limit]) },
  removeBy(
    "keys",
    `DELETE FROM seen WHERE (channel, account, event_key) IN (
      SELECT channel, account, event_key FROM seen
      WHERE at < ? AND NOT EXISTS (SELECT 1 FROM inbox WHERE inbox.id = seen.inbox_id) LIMIT ?)`,
  ),
  removeBy(
    "keys",
    `DELETE FROM received WHERE (session_key, name) IN (
      SELECT session_key, name FROM received WHERE at < ? LIMIT ?)`,
  ),
  removeBy("rows", `DELETE FROM runs WHERE rowid IN (SELECT rowid FROM runs WHERE at < ? LIMIT ?)`),
  removeBy(
    "rows",
    `DELETE FROM model_calls WHERE id IN (SELECT id FROM model_calls WHERE at < ? AND state <> 'held' LIMIT ?)`,
  ),
  removeBy(
    "rows",
    `DELETE FROM spend WHERE scope = 'run' AND (period, name) IN (
      SELECT period, name FROM spend WHERE scope = 'run' AND at < ? LIMIT ?)`,
  ),
  // The sums of days are few, and callers ask for a year of sums.
  removeBy(
    "keys",
    `DELETE FROM spend WHERE (scope, period, name) IN (SELECT scope, period, name FROM spend WHERE at < ? LIMIT ?)`,
  ),
  removeBy(
    "keys",
    `DELETE FROM spend_raises WHERE (scope, name, period) IN (
      SELECT scope, name, period FROM spend_raises WHERE at < ? LIMIT ?)`,
  ),
  removeBy("rows", `DELETE FROM system_events WHERE id IN (SELECT id FROM system_events WHERE at < ? LIMIT ?)`),
  removeBy("texts", `DELETE FROM texts WHERE rowid IN (SELECT rowid FROM texts WHERE at < ? LIMIT ?)`),
];

/** Messages, and the rows of their previews. */
function removeInbox(sql: Statements, found: string, params: Params): number {
  sql.run(`DELETE FROM preview WHERE inbox_id IN (${found})`, ...params);
  sql.run(`DELETE FROM preview_length WHERE inbox_id IN (${found})`, ...params);
  return sql.run(`DELETE FROM inbox WHERE id IN (${found})`, ...params).changes;
}

async function removeAll(commits: Commits, step: Step, before: number): Promise<number> {
  const rows = new StepSize(STEP);
  for (let removed = 0; ;) {
    const limit = rows.size;
    const some = await commits.write((sql) => {
      const begun = performance.now();
      const changes = step.remove(sql, before, limit);
      rows.took(limit, performance.now() - begun);
      return changes;
    });
    removed += some;
    if (some < limit) return removed;
    await setImmediate();
  }
}

/** The file does not become smaller: SQLite uses its free pages again. */
function bytesInUse(sql: Statements): number {
  const pages = count(sql.one("PRAGMA page_count"), "page_count");
  const free = count(sql.one("PRAGMA freelist_count"), "freelist_count");
  return (pages - free) * count(sql.one("PRAGMA page_size"), "page_size");
}
