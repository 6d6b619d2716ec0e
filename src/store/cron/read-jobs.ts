import { DatabaseSync } from "node:sqlite";
import type { StoredRow } from "../../types/cron/table.ts";
import { fileSize } from "../files.ts";
import { sqliteError, Statements } from "../database/sqlite.ts";
import { hasTables } from "../database/version.ts";
import { toStored } from "./cron-table.ts";

/**
 * Reads the scheduled jobs of a journal on disk. None when there is no journal, or when its version
 * cannot be opened. Throws `OpenClawError` when it cannot be read.
 */
export async function readCronJobs(path: string): Promise<readonly StoredRow[]> {
  if ((await fileSize(path)) === undefined) return [];
  let db: DatabaseSync | undefined;
  try {
    db = new DatabaseSync(path, { readOnly: true, timeout: 2000 });
    if (!hasTables(db)) return [];
    return new Statements(db, path).all("SELECT id, job, state FROM cron_jobs ORDER BY rowid").map(toStored);
  } catch (error) {
    throw sqliteError(error, path);
  } finally {
    db?.close();
  }
}
