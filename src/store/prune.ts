import type { Commits } from "./commits.ts";

const DAY_MS = 86_400_000;
const ROWS_DAYS = 30;
// No platform offers an event again after this long, and a key is some 60 bytes.
const KEYS_DAYS = 400;

/** Removes what is finished and older than `keepDays`; what is open stays however old. Returns the rows removed. */
export function pruneJournal(commits: Commits, now: number, keepDays = ROWS_DAYS): Promise<number> {
  const before = now - keepDays * DAY_MS;
  const keysBefore = now - Math.max(keepDays, KEYS_DAYS) * DAY_MS;
  return commits.write((sql) => {
    const outbox = sql.run("DELETE FROM outbox WHERE state IN ('sent', 'failed') AND created_at < ?", before);
    const inbox = sql.run("DELETE FROM inbox WHERE state = 'done' AND done_at < ?", before);
    sql.run("DELETE FROM preview WHERE inbox_id NOT IN (SELECT id FROM inbox)");
    sql.run("DELETE FROM seen WHERE at < ? AND inbox_id NOT IN (SELECT id FROM inbox)", keysBefore);
    const runs = sql.run("DELETE FROM runs WHERE at < ?", before);
    const texts = sql.run("DELETE FROM texts WHERE at < ?", before - DAY_MS);
    return outbox.changes + inbox.changes + runs.changes + texts.changes;
  });
}
