import { count } from "./columns.ts";
import type { Commits } from "./commits.ts";
import type { Statements } from "./sqlite.ts";

/** What the journal keeps; what is open stays however old. */
export interface Keep {
  /** Days of finished messages, replies and runs. */
  readonly rowsDays?: number | undefined;
  /** Days of messages that were not let in. */
  readonly strangersDays?: number | undefined;
  /** Days of the keys by which a redelivered event is known. */
  readonly dedupeDays?: number | undefined;
  /** Bytes in use; above it older rows go early, down to one day. */
  readonly maxBytes?: number | undefined;
}

const DAY_MS = 86_400_000;
const ROWS_DAYS = 30;
const STRANGERS_DAYS = 7;
const KEYS_DAYS = 400;
/** Signal keeps what it could not deliver for 45 days, WhatsApp for 30; no platform offers an event later. */
export const LEAST_KEYS_DAYS = 60;

/** Removes what is finished and older than it is kept. Returns the rows removed. */
export async function pruneJournal(commits: Commits, now: number, keep: Keep = {}): Promise<number> {
  const { rowsDays = ROWS_DAYS, strangersDays = STRANGERS_DAYS, dedupeDays = KEYS_DAYS, maxBytes } = keep;
  const keysDays = Math.max(LEAST_KEYS_DAYS, rowsDays, dedupeDays);
  const round = (days: number) =>
    commits.write((sql) => {
      const strangers = removeStrangers(sql, now - Math.min(days, strangersDays) * DAY_MS);
      return strangers + removeOld(sql, now - days * DAY_MS, now - keysDays * DAY_MS);
    });
  let removed = await round(rowsDays);
  for (let days = Math.floor(rowsDays / 2); maxBytes !== undefined && days >= 1; days = Math.floor(days / 2)) {
    if ((await commits.read(bytesInUse)) <= maxBytes) break;
    removed += await round(days);
  }
  return removed;
}

function removeStrangers(sql: Statements, before: number): number {
  return sql.run("DELETE FROM inbox WHERE state = 'done' AND refused IS NOT NULL AND done_at < ?", before).changes;
}

/** A reply goes with its message at the earliest: planning it anew would send it once more. */
const OLD_REPLIES = `
  DELETE FROM outbox WHERE state IN ('sent', 'failed') AND max(created_at, coalesce(retried_at, 0)) < ?
    AND NOT EXISTS (SELECT 1 FROM inbox WHERE inbox.id = outbox.inbox_id AND inbox.state <> 'done')`;

function removeOld(sql: Statements, before: number, keysBefore: number): number {
  const outbox = sql.run(OLD_REPLIES, before);
  const inbox = sql.run("DELETE FROM inbox WHERE state = 'done' AND done_at < ?", before);
  sql.run("DELETE FROM preview WHERE inbox_id NOT IN (SELECT id FROM inbox)");
  sql.run("DELETE FROM seen WHERE at < ? AND inbox_id NOT IN (SELECT id FROM inbox)", keysBefore);
  const runs = sql.run("DELETE FROM runs WHERE at < ?", before);
  const events = sql.run("DELETE FROM system_events WHERE at < ?", before);
  const texts = sql.run("DELETE FROM texts WHERE at < ?", before - DAY_MS);
  return outbox.changes + inbox.changes + runs.changes + events.changes + texts.changes;
}

/** The file itself does not shrink: free pages are used again. */
function bytesInUse(sql: Statements): number {
  const pages = count(sql.one("PRAGMA page_count"), "page_count");
  const free = count(sql.one("PRAGMA freelist_count"), "freelist_count");
  return (pages - free) * count(sql.one("PRAGMA page_size"), "page_size");
}
