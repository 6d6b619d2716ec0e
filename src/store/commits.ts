import type { DatabaseSync } from "node:sqlite";
import { isDiskFault, sqliteCode, sqliteError, Statements } from "./sqlite.ts";

interface Write {
  /** Runs inside the transaction; its value waits until COMMIT. */
  work(): Settle;
  fail(error: unknown): void;
}
type Settle = () => void;

/**
 * Group commit: everything written in one turn of the event loop shares one transaction and one fsync.
 * A statement that fails takes only its own write down; a disk that fails takes the batch, and the next batch tries anew.
 */
export class Commits {
  readonly sql: Statements;
  readonly #db: DatabaseSync;
  readonly #path: string;
  #queue: Write[] = [];
  #scheduled: NodeJS.Immediate | undefined;

  constructor(db: DatabaseSync, path: string) {
    this.#db = db;
    this.#path = path;
    this.sql = new Statements(db);
  }

  /** Resolves with what `work` returned once that is on disk. `work` is synchronous and may run twice. */
  write<T>(work: (sql: Statements) => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#queue.push({
        work: () => {
          const value = work(this.sql);
          return () => resolve(value);
        },
        fail: (error) => reject(sqliteError(error, this.#path)),
      });
      this.#scheduled ??= setImmediate(() => this.flush());
    });
  }

  /** Sees every write asked for before. */
  async read<T>(work: (sql: Statements) => T): Promise<T> {
    this.flush();
    try {
      return work(this.sql);
    } catch (error) {
      throw sqliteError(error, this.#path);
    }
  }

  /** Commits what waits, now. Never throws: each write's promise tells. */
  flush(): void {
    clearImmediate(this.#scheduled);
    this.#scheduled = undefined;
    const batch = this.#queue;
    this.#queue = [];
    if (batch.length > 0) this.#commit(batch);
  }

  #commit(batch: readonly Write[]): void {
    const settled: Settle[] = [];
    try {
      this.#db.exec("BEGIN IMMEDIATE");
      for (const write of batch) settled.push(this.#attempt(write));
      this.#db.exec("COMMIT");
    } catch (error) {
      this.#rollBack();
      for (const write of batch) write.fail(error);
      return;
    }
    for (const settle of settled) settle();
  }

  #attempt(write: Write): Settle {
    this.#db.exec("SAVEPOINT one");
    try {
      const settle = write.work();
      this.#db.exec("RELEASE one");
      return settle;
    } catch (error) {
      if (isDiskFault(error) || !this.#db.isTransaction) throw error;
      this.#db.exec("ROLLBACK TO one; RELEASE one");
      return () => write.fail(error);
    }
  }

  #rollBack(): void {
    // SQLite has rolled back by itself after some disk faults; a write may come after the journal was closed.
    if (!this.#db.isOpen || !this.#db.isTransaction) return;
    try {
      this.#db.exec("ROLLBACK");
    } catch (error) {
      if (sqliteCode(error) === undefined) throw error;
    }
  }
}
