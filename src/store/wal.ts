import { DatabaseSync } from "node:sqlite";
import type { OpenClawError } from "../types/errors.ts";
import { diskError } from "./disk.ts";
import { SCHEMA_VERSION } from "./journal/schema.ts";
import { BUSY, isDiskFault, sqliteCode, sqliteError } from "./journal/sqlite.ts";
import { openWalFiles, type WalFiles } from "./wal-files.ts";

const MIB = 1024 * 1024;
/** Bytes of the log at which it is copied into the database; SQLite's own figure, 1000 pages of 4 KiB. */
const LONG_BYTES = 4 * MIB;
/** Bytes that the log may have while a reader prevents writing from its beginning again. */
const READER_BYTES = MIB;
/** Bytes of the log's file above which it is made short again. */
const CUT_BYTES = 16 * MIB;

/** Takes over the log of a journal for this process. Throws as `openJournal` does, after closing the database. */
export async function openWal(db: DatabaseSync, path: string): Promise<Wal> {
  let files: WalFiles | undefined;
  try {
    files = await openWalFiles(path);
    return new Wal(db, new DatabaseSync(path, { readOnly: true, timeout: 0 }), files, path);
  } catch (error) {
    db.close();
    await files?.close();
    throw diskError(sqliteError(error, path), path);
  }
}

/**
 * The write-ahead log of the one process that owns a journal. SQLite writes to it without waiting for the disk; the waiting
 * is done here, by asynchronous syncs. docs/decisions/0024-journal-synced-off-the-loop.md says why that is safe.
 */
export class Wal {
  /** Resolves with the error of a failed sync. It is then unknown what is on the disk, so the process must end. */
  readonly lost: Promise<OpenClawError>;
  readonly #db: DatabaseSync;
  readonly #reader: DatabaseSync;
  readonly #path: string;
  readonly #files: WalFiles;
  readonly #tellLost: (error: OpenClawError) => void;
  #error: OpenClawError | undefined;
  #limit = LONG_BYTES;
  #running: Promise<void> | undefined;
  #next: Promise<void> | undefined;

  /** `reader` is a second connection to the same file, used for nothing else. */
  constructor(db: DatabaseSync, reader: DatabaseSync, files: WalFiles, path: string) {
    this.#db = db;
    this.#reader = reader;
    this.#files = files;
    this.#path = path;
    const { promise, resolve } = Promise.withResolvers<OpenClawError>();
    this.lost = promise;
    this.#tellLost = resolve;
    db.exec("PRAGMA wal_autocheckpoint = 0; PRAGMA busy_timeout = 0");
    // Syncs the header and the name of a new log at the start, and not with the first message.
    this.#beginAnew("FULL");
  }

  /** The first failed sync. */
  get error(): OpenClawError | undefined {
    return this.#error;
  }

  get isLong(): boolean {
    return this.#files.logBytes() > this.#limit;
  }

  /** The latest requested sync. When it is done, all commits are on the disk. */
  get pending(): Promise<void> | undefined {
    return this.#next ?? this.#running;
  }

  /**
   * Resolves when every earlier commit is on the disk. Only one sync runs at a time; callers meanwhile share the next one.
   * Rejects with `OpenClawError` DISK_FULL or DISK_WRITE.
   */
  sync(): Promise<void> {
    if (!this.#running) return this.#start();
    const start = (): Promise<void> => this.#start();
    this.#next ??= this.#running.then(start, start);
    return this.#next;
  }

  /**
   * Copies the log into the database, so that it is written from its beginning again. Nothing may be committed meanwhile.
   * Throws what SQLite throws, then nothing is changed and a later call tries again; rejects as `sync` does.
   */
  async checkpoint(): Promise<void> {
    await this.sync();
    const isWhole = await this.#copy();
    if (isWhole && this.#files.logBytes() > CUT_BYTES) this.#cut();
    this.#beginAnew("OFF");
    const bytes = this.#files.logBytes();
    this.#limit = isWhole ? Math.max(LONG_BYTES, bytes) : bytes + READER_BYTES;
    await this.sync();
  }

  /** Closes the database, which copies the log and removes it, and closes the files. */
  async close(): Promise<void> {
    if (!this.#db.isOpen) return;
    this.#reader.close();
    this.#db.close();
    await this.#files.close();
  }

  #start(): Promise<void> {
    this.#next = undefined;
    const running = this.#synced(this.#files.syncLog()).finally(() => {
      if (this.#running === running) this.#running = undefined;
    });
    this.#running = running;
    return running;
  }

  /** False when a reader in another process still needs a part of the log. */
  async #copy(): Promise<boolean> {
    try {
      // Until the copy is on the disk, no write may overwrite the log.
      this.#reader.exec("BEGIN; SELECT 1 FROM sqlite_master");
      this.#db.exec("PRAGMA synchronous = OFF");
      const done = this.#db.prepare("PRAGMA wal_checkpoint(PASSIVE)").get();
      this.#db.exec("PRAGMA synchronous = NORMAL");
      await this.#synced(this.#files.syncDatabase());
      return done?.["busy"] === 0 && done["log"] === done["checkpointed"];
    } finally {
      this.#db.exec("PRAGMA synchronous = NORMAL");
      if (this.#reader.isTransaction) this.#reader.exec("COMMIT");
    }
  }

  #cut(): void {
    this.#db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  }

  /** Writes one page to the log; at its beginning when all of it was copied. */
  #beginAnew(synchronous: "FULL" | "OFF"): void {
    try {
      this.#db.exec(`PRAGMA synchronous = ${synchronous}; PRAGMA user_version = ${SCHEMA_VERSION}`);
    } catch (error) {
      // The next write reports the disk's problem.
      if (!isDiskFault(error) && sqliteCode(error) !== BUSY) throw error;
    } finally {
      this.#db.exec("PRAGMA synchronous = NORMAL");
    }
  }

  async #synced(sync: Promise<void>): Promise<void> {
    try {
      await sync;
    } catch (error) {
      this.#error ??= diskError(error, this.#path);
      this.#tellLost(this.#error);
    }
    if (this.#error) throw this.#error;
  }
}
