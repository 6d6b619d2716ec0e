import { openDatabase } from "./database.ts";
import { STALE } from "../database/counts.ts";

/** What was ended in a restored journal. */
export interface EndedHere {
  readonly messages: number;
  readonly sends: number;
}

/** The reason of rows that were ended, after the word for rows that people may run again. */
const WHY = `${STALE}it waited when the backup was made, and the original may have answered it`;
const SEND = "it waited when the backup was made, and the original may have sent it";

/**
 * Ends what waited in a journal that comes from a backup, because the original may have done it since: messages are listed
 * as stale ones, which an operator can have run again, and nothing is sent. Nobody else has the journal open.
 */
export function endWaiting(path: string, now: number): EndedHere {
  const db = openDatabase(path);
  try {
    db.exec("BEGIN IMMEDIATE");
    const outcome = JSON.stringify({ kind: "dropped", why: WHY });
    const messages = db
      .prepare("UPDATE inbox SET state = 'done', outcome = ?, done_at = ? WHERE state <> 'done'")
      .run(outcome, now).changes;
    const sends = db
      .prepare(
        "UPDATE outbox SET state = 'failed', error = ?, gap = NULL WHERE state IN ('planned', 'sending', 'unknown')",
      )
      .run(SEND).changes;
    db.exec("COMMIT");
    return { messages: Number(messages), sends: Number(sends) };
  } finally {
    db.close();
  }
}

/** Takes the slots of all jobs until now as dealt with: the original ran them. Nobody else has the journal open. */
export function passSlots(path: string, now: number): void {
  const db = openDatabase(path);
  try {
    db.prepare(
      "UPDATE cron_jobs SET state = json_set(json_remove(state, '$.underway', '$.retry', '$.pacedAtMs'), '$.cursorMs', max(state ->> '$.cursorMs', ?))",
    ).run(now);
  } finally {
    db.close();
  }
}
