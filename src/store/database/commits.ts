import { setImmediate as nextIteration, setTimeout as delay } from "node:timers/promises";
import type { DatabaseSync } from "node:sqlite";
import type { OpenClawError } from "../../types/errors.ts";
import { background } from "../../utils/background.ts";
import { BUSY, isDiskFault, sqliteCode, sqliteError, Statements } from "./sqlite.ts";
import type { Wal } from "./wal.ts";

interface Write {
  /** Work that runs inside the transaction. Its promise resolves after COMMIT. */
  work(): Settle;
  fail(error: unknown): void;
  readonly sync: SyncOf;
}
/** When the sync of a write begins, and whether its promise waits for it. */
type SyncOf = "awaited" | "at once" | "soon";
/** How soon a write is committed and synced when its promise does not wait for the sync. `writeAhead` explains the values. */
type Haste = "at once" | "soon" | "with others";
type Settle = () => void;

/** Milliseconds that a write for whose commit nobody waits is put off, so that it shares the commit of another one. */
const WITH_OTHERS_MS = 5;

/** Milliseconds that a write waits for another program's write lock on the journal, and milliseconds between two tries. */
const BUSY_MS = 2000;
const LOOK_AGAIN_MS = 20;

/**
 * Synced writes that are settled in one iteration of the event loop, since the code that waits for a write runs at
 * once.
 */
const SETTLED_PER_ITERATION = 4;

/**
 * Iterations of the event loop whose writes join the writes of the first iteration, while each has other work for at
 * least `OTHER_WORK_MS` milliseconds. A commit writes whole pages, and the same pages for one write and for five.
 */
const JOINED_ITERATIONS = 6;
const OTHER_WORK_MS = 0.5;

interface CommitOptions {
  /** The log of the process that owns the journal. Without it SQLite syncs each commit and waits for locks by itself. */
  readonly wal?: Wal;
  /** Whether a write with `wal` waits until it is on the disk. */
  readonly isDurable?: boolean;
  /** Called, with `wal`, when the log could not be copied into the database. */
  onLongLog?(error: unknown): void;
  /** Thrown for rows that cannot be read: a newer version has changed them. */
  readonly unread?: OpenClawError;
}

/**
 * Group commit: all writes of one turn of the event loop, or of several turns of a busy one, share one transaction, and
 * all commits before the next sync begins share that sync. A statement that fails takes only its own write down; a disk
 * that fails takes the batch, and the next batch tries anew.
 */
export class Commits {
  readonly sql: Statements;
  readonly #db: DatabaseSync;
  readonly #path: string;
  readonly #options: CommitOptions;
  #queue: Write[] = [];
  #scheduled: NodeJS.Immediate | undefined;
  /** Commits the writes for which nobody waits. */
  #putOff: NodeJS.Timeout | undefined;
  /** Pauses commits until this resolves. Never rejects. */
  #pause: Promise<void> | undefined;
  #busySince: number | undefined;
  /** Settles writes that are on the disk. */
  readonly #onDisk: Settle[] = [];
  #settling: NodeJS.Immediate | undefined;

  constructor(db: DatabaseSync, path: string, options: CommitOptions = {}) {
    this.#db = db;
    this.#path = path;
    this.#options = options;
    this.sql = new Statements(db, path);
  }

  /** Resolves with the result of `work` when it is on disk. `work` is synchronous and may run several times. */
  write<T>(work: (sql: Statements) => T): Promise<T> {
    return this.#enqueue(work, "awaited");
  }

  /**
   * As `write`, but resolves after COMMIT: the result outlives the process, and a power cut only after `synced`. The
   * sync begins at once, so that further work on the result runs meanwhile, or `soon`: within 5 ms, so that further
   * writes share it. `with others`: the write is committed together with the next write, or after 5 ms.
   */
  writeAhead<T>(work: (sql: Statements) => T, haste: Haste = "soon"): Promise<T> {
    return this.#enqueue(work, haste === "at once" ? haste : "soon", haste !== "with others");
  }

  /** Resolves when every write that has resolved is on disk. Rejects as they would have. */
  async synced(): Promise<void> {
    await this.#unsynced();
  }

  #enqueue<T>(work: (sql: Statements) => T, sync: SyncOf, isAwaited = true): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#queue.push({
        sync,
        work: () => {
          const value = work(this.sql);
          return () => resolve(value);
        },
        fail: (error) => reject(sqliteError(error, this.#path)),
      });
      if (isAwaited) this.#scheduled ??= this.#flushSoon();
      else this.#putOff ??= setTimeout(() => this.#flush(), WITH_OTHERS_MS);
    });
  }

  #flushSoon(): NodeJS.Immediate {
    const since = performance.now();
    return setImmediate(() => this.#flushUnlessBusy(since, 0));
  }

  /** Commits, or lets the writes of another iteration of a busy event loop join. */
  #flushUnlessBusy(since: number, iterations: number): void {
    const now = performance.now();
    if (now - since < OTHER_WORK_MS || iterations >= JOINED_ITERATIONS) return this.#flush();
    this.#scheduled = setImmediate(() => this.#flushUnlessBusy(now, iterations + 1));
  }

  /** Reads after all earlier writes, and resolves when the data that it read is on disk. */
  async read<T>(work: (sql: Statements) => T): Promise<T> {
    const value = await this.readAhead(work);
    await this.#unsynced();
    return value;
  }

  /** As `read`, but the data may not be on disk yet. */
  async readAhead<T>(work: (sql: Statements) => T): Promise<T> {
    this.#flush();
    while (this.#pause && this.#queue.length > 0) {
      await this.#pause;
      this.#flush();
    }
    return this.#look(work);
  }

  /** Resolves when all earlier writes have settled. */
  async settle(): Promise<void> {
    this.#flush();
    while (this.#pause) await this.#pause;
    // Settled, not done: each writer gets the error of a failed sync from its own promise, and `Wal.lost` reports it to
    // the gateway.
    await Promise.allSettled([this.#unsynced()]);
    while (this.#settling) await nextIteration();
  }

  #look<T>(work: (sql: Statements) => T): T {
    try {
      return work(this.sql);
    } catch (error) {
      const known = sqliteError(error, this.#path);
      throw known === error ? (this.#options.unread ?? error) : known;
    }
  }

  async #unsynced(): Promise<void> {
    const { wal, isDurable } = this.#options;
    if (isDurable !== true || !wal) return;
    await wal.pending;
    // After a failed sync the content of the disk is unknown, also when no sync runs any more.
    if (wal.error) throw wal.error;
  }

  /** Commits the waiting writes now, unless commits are paused. Never throws; the promise of each write has its result. */
  #flush(): void {
    clearImmediate(this.#scheduled);
    clearTimeout(this.#putOff);
    this.#scheduled = undefined;
    this.#putOff = undefined;
    if (this.#pause || this.#queue.length === 0) return;
    const batch = this.#queue;
    this.#queue = [];
    this.#commit(batch);
  }

  /**
   * Writes fail rarely. Only when one did, all writes are made again, each apart so that a failure takes no other write
   * with it.
   */
  #commit(batch: readonly Write[], areApart = false): void {
    const { wal } = this.#options;
    const settled: Settle[] = [];
    try {
      if (wal?.error) throw wal.error;
      this.sql.run("BEGIN IMMEDIATE");
      for (const write of batch) settled.push(areApart ? this.#attempt(write) : write.work());
      this.sql.run("COMMIT");
    } catch (error) {
      this.#rollBack();
      return this.#tryAgain(batch, areApart, error);
    }
    this.#busySince = undefined;
    if (wal) this.#afterCommit(wal, batch, settled);
    else for (const settle of settled) settle();
  }

  /** Fails the writes where trying again would not help. */
  #tryAgain(batch: readonly Write[], areApart: boolean, error: unknown): void {
    if (this.#options.wal && this.#mayWait(error)) return this.#later(batch);
    if (batch.length > 1 && !areApart && !isDiskFault(error)) return this.#commit(batch, true);
    for (const write of batch) write.fail(error);
  }

  #afterCommit(wal: Wal, batch: readonly Write[], settled: readonly Settle[]): void {
    const synced = this.#options.isDurable === true ? syncOf(wal, batch) : undefined;
    for (const [at, settle] of settled.entries()) if (!synced || batch[at]?.sync !== "awaited") settle();
    if (synced) background("the journal's sync", this.#settleSynced(synced, batch, settled));
    if (wal.committed(synced) === "copy all")
      this.#pauseFor(wal.checkpoint().catch((error: unknown) => this.#options.onLongLog?.(error)));
  }

  async #settleSynced(synced: Promise<void>, batch: readonly Write[], settled: readonly Settle[]): Promise<void> {
    try {
      await synced;
    } catch (error) {
      for (const write of batch) write.fail(error);
      return;
    }
    this.#onDisk.push(...settled);
    if (!this.#settling) this.#settleSome();
  }

  /** Settles in the order of the writes, also when the next sync ends meanwhile. */
  #settleSome(): void {
    this.#settling = undefined;
    for (const settle of this.#onDisk.splice(0, SETTLED_PER_ITERATION)) settle();
    if (this.#onDisk.length > 0) this.#settling = setImmediate(() => this.#settleSome());
  }

  #pauseFor(work: Promise<void>): void {
    this.#pause = work.then(() => {
      this.#pause = undefined;
      this.#flush();
    });
  }

  #mayWait(error: unknown): boolean {
    if (sqliteCode(error) !== BUSY) return false;
    this.#busySince ??= performance.now();
    if (performance.now() - this.#busySince < BUSY_MS) return true;
    this.#busySince = undefined;
    return false;
  }

  #later(batch: readonly Write[]): void {
    this.#queue = [...batch, ...this.#queue];
    this.#pauseFor(delay(LOOK_AGAIN_MS));
  }

  #attempt(write: Write): Settle {
    this.sql.run("SAVEPOINT one");
    try {
      const settle = write.work();
      this.sql.run("RELEASE one");
      return settle;
    } catch (error) {
      if (isDiskFault(error) || !this.#db.isTransaction) throw error;
      this.#db.exec("ROLLBACK TO one; RELEASE one");
      return () => write.fail(error);
    }
  }

  #rollBack(): void {
    // After some disk errors SQLite has rolled back by itself, and a write may come after the journal was closed.
    if (!this.#db.isOpen || !this.#db.isTransaction) return;
    try {
      this.#db.exec("ROLLBACK");
    } catch (error) {
      if (sqliteCode(error) === undefined) throw error;
    }
  }
}

/** A write that waits for its sync has it at once. */
const syncOf = (wal: Wal, batch: readonly Write[]): Promise<void> =>
  batch.every(({ sync }) => sync === "soon") ? wal.syncSoon() : wal.sync();
