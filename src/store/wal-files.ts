import { fstatSync, readSync } from "node:fs";
import { open } from "node:fs/promises";
import { endianness } from "node:os";

/** The files of a journal. Each method rejects or throws the system's error. */
export interface WalFiles {
  /** Bytes of the write-ahead log's file. */
  logBytes(): number;
  /** Pages that were written to the log since it was last written from its beginning. */
  logPages(): number;
  /** Resolves when everything written to the log before the call is on the disk. At most `MOST_SYNCS` may run at a time. */
  syncLog(): Promise<void>;
  /** As `syncLog`, for the database. */
  syncDatabase(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Syncs of the log that may run at a time. Linux reports a failed write once for each descriptor, so each sync has a
 * descriptor of its own: with a shared one, only one of two syncs would learn of it.
 */
export const MOST_SYNCS = 3;

/** Where the log's index, whose format SQLite documents, has the number of the last page that was committed: 4 bytes. */
const LAST_PAGE_AT = 16;

/**
 * The files of a journal that SQLite has open and has written to. Close these files only after the database: the system
 * drops a process's locks on a file when the process closes any descriptor of it.
 */
export async function openWalFiles(path: string): Promise<WalFiles> {
  const database = await open(path, "r+");
  const log = await open(`${path}-wal`, "r+");
  const logs = [log];
  while (logs.length < MOST_SYNCS) logs.push(await open(`${path}-wal`, "r+"));
  const idle = [...logs];
  const index = await open(`${path}-shm`, "r");
  const lastPage = Buffer.alloc(4);
  return {
    logBytes: () => fstatSync(log.fd).size,
    logPages() {
      readSync(index.fd, lastPage, 0, lastPage.length, LAST_PAGE_AT);
      return endianness() === "LE" ? lastPage.readUInt32LE() : lastPage.readUInt32BE();
    },
    async syncLog() {
      const own = idle.pop();
      if (!own) throw new Error(`more than ${MOST_SYNCS} syncs of a log`);
      try {
        await own.datasync();
      } finally {
        idle.push(own);
      }
    },
    syncDatabase: () => database.datasync(),
    async close() {
      await index.close();
      await Promise.all(logs.map((one) => one.close()));
      await database.close();
    },
  };
}
