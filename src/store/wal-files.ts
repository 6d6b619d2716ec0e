import { fstatSync } from "node:fs";
import { open } from "node:fs/promises";

/** The two files of a journal, as far as they have to be synced. Each method rejects or throws the system's error. */
export interface WalFiles {
  /** Bytes of the write-ahead log. */
  logBytes(): number;
  /** Resolves when everything written to the log before the call is on the disk. */
  syncLog(): Promise<void>;
  /** The same of the database. */
  syncDatabase(): Promise<void>;
  close(): Promise<void>;
}

/**
 * The files of a journal that SQLite has open and has written to. Close them only after the database: the system drops a
 * process's locks on a file when the process closes any descriptor of it.
 */
export async function openWalFiles(path: string): Promise<WalFiles> {
  const database = await open(path, "r+");
  const log = await open(`${path}-wal`, "r+");
  return {
    logBytes: () => fstatSync(log.fd).size,
    syncLog: () => log.datasync(),
    syncDatabase: () => database.datasync(),
    async close() {
      await log.close();
      await database.close();
    },
  };
}
