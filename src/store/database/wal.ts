import { DatabaseSync } from "node:sqlite";
import type { OpenClawError } from "../../types/errors.ts";
import { diskError, syncFailed } from "../disk.ts";
import { BUSY, isDiskFault, sqliteCode, sqliteError } from "./sqlite.ts";
import { StepSize } from "../step-size.ts";
import { MOST_SYNCS, openWalFiles, type WalFiles } from "../wal-files.ts";

const MIB = 1024 * 1024;
/** Pages of the log at which it is written from its beginning again; SQLite's own figure, 4 MiB. */
const LONG_PAGES = 1000;
/** Pages that the log may still grow by while a reader prevents that. */
const READER_PAGES = 250;
/** The log's length is read after every third commit, because reading it takes as long as a short statement. */
const COMMITS_A_LOOK = 3;
/** Pages that are copied into the database at once, and how long that should take. */
const STEP = { least: 32, most: 192, ms: 1.5 };
/** Bytes of the log's file above which it is made short again. */
const CUT_BYTES = 16 * MIB;
/** Milliseconds from the begin of a sync to that of the next one while it runs, on a disk whose last sync took longer. */
const SYNC_GAP_MS = 5;
/** Milliseconds that a sync for which nobody waits is put off, so that further writes share it. */
const SOON_MS = 5;

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

/** Begins a read transaction, which takes its snapshot with the first read. */
const READ = "BEGIN; SELECT 1 FROM sqlite_master";

/** A part of the log that is about to be copied: all up to a page. */
interface Part {
  readonly lastPage: number;
  isSynced: boolean;
}

/** A sync that was asked for and has not begun. */
interface NextSync extends PromiseWithResolvers<void> {
  /** Whether somebody waits for the sync, or it was put off for long enough. */
  isDue: boolean;
}

/**
 * The write-ahead log of the one process that owns a journal. SQLite writes to the log without waiting for the disk;
 * this class waits for the disk, by asynchronous syncs. docs/decisions/0024-journal-synced-off-the-loop.md says why
 * that is safe.
 */
export class Wal {
  /** Resolves with the error of a failed sync. The content of the disk is then unknown, so the process must end. */
  readonly lost: Promise<OpenClawError>;
  readonly #db: DatabaseSync;
  readonly #reader: DatabaseSync;
  readonly #path: string;
  readonly #files: WalFiles;
  readonly #tellLost: (error: OpenClawError) => void;
  #error: OpenClawError | undefined;
  #limit = LONG_PAGES;
  /** Commits since the log's length was read. */
  #unseenCommits = 0;
  /** Up to this page, the log was copied, or tried to be. */
  #copied = 0;
  #part: Part | undefined;
  readonly #step = new StepSize(STEP);
  /** Syncs that run now. */
  #syncs = 0;
  /** The sync that began last, while one runs. */
  #latest: Promise<void> | undefined;
  #latestAt = 0;
  /** Milliseconds that the sync took which ended last; the disk counts as slow until one has ended. */
  #lastTook = Infinity;
  #next: NextSync | undefined;

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

  /**
   * The caller calls this after each commit. Returns "copy all" when the log is so long that the caller must pause
   * commits and call `checkpoint`. Otherwise copies the next part of the log, if that part is large enough. `synced`
   * resolves when the commit is on the disk; when unset, this begins a sync.
   */
  committed(synced?: Promise<void>): "copy all" | undefined {
    this.#unseenCommits = (this.#unseenCommits + 1) % COMMITS_A_LOOK;
    if (this.#unseenCommits !== 0) return undefined;
    const pages = this.#files.logPages();
    if (pages > this.#limit) return "copy all";
    this.#copyPart(pages, synced);
    return undefined;
  }

  /** Resolves as `sync` does; undefined when every commit is on the disk. */
  get pending(): Promise<void> | undefined {
    return this.#next ? this.sync() : this.#latest;
  }

  /**
   * Resolves when every earlier commit is on the disk. Several syncs may run at a time and end in the order in which
   * they began: on a fast disk the next sync begins at once, on a slow one after a gap in which callers come to share
   * it. Rejects with `OpenClawError` DISK_FULL or DISK_WRITE.
   */
  sync(): Promise<void> {
    const next = (this.#next ??= nextSync());
    const isFree = this.#syncs === 0 || this.#lastTook < SYNC_GAP_MS;
    const waitMs = isFree ? 0 : SYNC_GAP_MS - (performance.now() - this.#latestAt);
    if (waitMs <= 0) this.#startOnceFree(next);
    else this.#startIn(next, waitMs);
    return next.promise;
  }

  /** As `sync`, but waits 5 ms for further commits, unless somebody calls `sync` before. */
  syncSoon(): Promise<void> {
    if (this.#next) return this.#next.promise;
    const next = nextSync();
    this.#next = next;
    setTimeout(() => this.#startOnceFree(next), SOON_MS);
    return next.promise;
  }

  /**
   * Copies the rest of the log into the database, so that it is written from its beginning again. Nothing may be committed
   * meanwhile. Throws what SQLite throws, then nothing is changed and a later call tries again; rejects as `sync` does.
   */
  async checkpoint(): Promise<void> {
    this.#endPart();
    await this.sync();
    const isWhole = await this.#copyRest();
    if (isWhole && this.#files.logBytes() > CUT_BYTES) this.#cut();
    this.#beginAnew("OFF");
    this.#copied = isWhole ? 0 : this.#files.logPages();
    this.#limit = isWhole ? LONG_PAGES : this.#copied + READER_PAGES;
    await this.sync();
  }

  /** Closes the database, which copies the log and removes it, and closes the files. */
  async close(): Promise<void> {
    if (!this.#db.isOpen) return;
    this.#part = undefined;
    this.#reader.close();
    this.#db.close();
    await this.#files.close();
  }

  /**
   * Copies the next part of the log into the database when it is large enough, so that `checkpoint` has little left to
   * copy. Copies only synced pages, and never the log's last page: as long as that page is not in the database, nobody
   * writes the log from its beginning again, and the process that copies the last page also syncs the pages copied
   * here. `pages`: the log's length now.
   */
  #copyPart(pages: number, synced?: Promise<void>): void {
    // Another program has written the log from its beginning again.
    if (pages < this.#copied) this.#copied = 0;
    if (this.#part) this.#copyLater(this.#part);
    // A part that needs a sync of its own is as large as possible.
    else if (pages - this.#copied >= (synced ? this.#step.size : STEP.most)) this.#beginPart(pages, synced);
  }

  /** Starts a sync after some milliseconds. The end of another sync starts it before. */
  #startIn(next: NextSync, ms: number): void {
    if (!next.isDue) setTimeout(() => this.#startOnceFree(next), Math.max(1, ms));
    next.isDue = true;
  }

  /** Starts a sync that has not begun: now, or when a running one has ended. */
  #startOnceFree(next: NextSync): void {
    if (this.#next !== next) return;
    next.isDue = true;
    if (this.#syncs < MOST_SYNCS) this.#start(next);
  }

  /**
   * Starts a sync. All callers that asked for this sync share one promise, so it settles for them in the order in which
   * they asked. The waiting callers get its failure.
   */
  #start(next: NextSync): void {
    const begun = performance.now();
    this.#next = undefined;
    this.#syncs += 1;
    this.#latestAt = begun;
    const own = this.#synced(this.#files.syncLog()).finally(() => this.#syncEnded(performance.now() - begun));
    const sync = this.#latest ? inOrder(this.#latest, own) : own;
    this.#latest = sync;
    next.resolve(sync);
  }

  #syncEnded(tookMs: number): void {
    this.#lastTook = tookMs;
    this.#syncs -= 1;
    if (this.#syncs === 0) this.#latest = undefined;
    if (this.#next?.isDue) this.#startOnceFree(this.#next);
  }

  /** While the reader reads, no copy goes further than the log goes now. */
  #beginPart(lastPage: number, synced = this.sync()): void {
    try {
      this.#reader.exec(READ);
    } catch (error) {
      this.#skip(lastPage, error);
      return;
    }
    const part: Part = { lastPage, isSynced: false };
    this.#part = part;
    const isSynced = () => {
      part.isSynced = true;
      this.#copyLater(part);
    };
    // `lost` reports a failed sync. The part stays, so that nothing is copied any more.
    synced.then(isSynced, () => undefined);
  }

  #endPart(): void {
    this.#part = undefined;
    if (this.#reader.isTransaction) this.#reader.exec("COMMIT");
  }

  /** Copies the part in a later turn of the event loop than the turn that made a commit. */
  #copyLater(part: Part): void {
    if (part.isSynced) setImmediate(() => this.#copyWhole(part));
  }

  #copyWhole(part: Part): void {
    if (this.#part !== part || this.#files.logPages() <= part.lastPage) return;
    const begun = performance.now();
    try {
      this.#copy();
    } catch (error) {
      this.#skip(part.lastPage, error);
      return;
    }
    this.#step.took(part.lastPage - this.#copied, performance.now() - begun);
    this.#copied = part.lastPage;
    this.#endPart();
  }

  /** Leaves a part to `checkpoint`, which throws when it cannot copy it either. */
  #skip(lastPage: number, error: unknown): void {
    if (sqliteCode(error) === undefined) throw error;
    this.#copied = lastPage;
    this.#endPart();
  }

  /** False when a reader in another process still needs a part of the log. */
  async #copyRest(): Promise<boolean> {
    try {
      // No write may overwrite the log until the copy is on the disk.
      this.#reader.exec(READ);
      const isWhole = this.#copy();
      await this.#synced(this.#files.syncDatabase());
      return isWhole;
    } finally {
      if (this.#reader.isTransaction) this.#reader.exec("COMMIT");
    }
  }

  /** Copies as much of the log as no reader needs, without a sync. Returns whether that was all. */
  #copy(): boolean {
    try {
      this.#db.exec("PRAGMA synchronous = OFF");
      const done = this.#db.prepare("PRAGMA wal_checkpoint(PASSIVE)").get();
      return done?.["busy"] === 0 && done["log"] === done["checkpointed"];
    } finally {
      this.#db.exec("PRAGMA synchronous = NORMAL");
    }
  }

  #cut(): void {
    this.#db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  }

  /** Writes one page to the log; at its beginning when the whole log was copied. */
  #beginAnew(synchronous: "FULL" | "OFF"): void {
    try {
      // A value that never changes, unlike the version, which a newer program may have raised meanwhile.
      this.#db.exec(`PRAGMA synchronous = ${synchronous}; PRAGMA application_id = 0`);
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
      this.#error ??= syncFailed(error, this.#path);
      this.#tellLost(this.#error);
    }
    if (this.#error) throw this.#error;
  }
}

const nextSync = (): NextSync => ({ ...Promise.withResolvers<void>(), isDue: false });

/** Resolves when both have; a sync includes what earlier ones wrote, so it is not done before them. */
async function inOrder(before: Promise<void>, own: Promise<void>): Promise<void> {
  await Promise.all([before, own]);
}
