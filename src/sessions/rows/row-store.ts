import type { SessionKey } from "../../types/ids.ts";
import type { ChatFilter, SessionEntry, SessionPatch } from "../../types/session.ts";
import { Feed } from "../../utils/feed.ts";
import { columnOf, mapRows } from "./merge-rows.ts";
import { hasSameSettings, keptRow, patchRow, takenBack } from "./row.ts";
import { RowIndex } from "./row-index.ts";
import { RowsExport, type RowsOptions } from "./rows-export.ts";

const BATCH_MS = 3000;

/** The session rows in memory. Changes reach the journal within seconds, or at once; `sessions.json` follows later. */
export class RowStore {
  readonly settingChanges = new Feed<SessionKey>();
  readonly #options: RowsOptions;
  readonly #rows: Map<SessionKey, SessionEntry>;
  readonly #index: RowIndex;
  readonly #export: RowsExport;
  /** Keys changed since the last write. */
  #dirty = new Set<SessionKey>();
  #forget: (() => void) | undefined;
  #writing: Promise<void> = Promise.resolve();
  #next: Promise<void> | undefined;

  private constructor(options: RowsOptions, rows: Map<SessionKey, SessionEntry>) {
    this.#options = options;
    this.#rows = rows;
    this.#index = new RowIndex(options.defaultAgent, rows);
    this.#export = new RowsExport(options, {
      all: rows,
      adopt: (changes) => {
        for (const [key, row] of changes) this.#put(key, row);
        return this.flush();
      },
    });
  }

  /** Rejects when the journal cannot be read. */
  static async open(options: RowsOptions): Promise<RowStore> {
    const { dir, earlier } = options;
    const stored = columnOf(await options.table.all(), "row");
    const rows = mapRows(stored, (row) => keptRow(row, dir, earlier));
    const store = new RowStore(options, rows);
    for (const [key, row] of stored) if (rows.get(key) !== row) store.#dirty.add(key);
    await store.flush();
    await store.#export.open();
    return store;
  }

  get(key: SessionKey): SessionEntry | undefined {
    return this.#rows.get(key);
  }

  list(): readonly (readonly [SessionKey, SessionEntry])[] {
    return [...this.#rows];
  }

  get count(): number {
    return this.#rows.size;
  }

  withId(sessionId: string): readonly [SessionKey, SessionEntry] | undefined {
    const key = this.#index.withId(sessionId);
    const row = key === undefined ? undefined : this.#rows.get(key);
    return key === undefined || row === undefined ? undefined : [key, row];
  }

  /** The chosen rows, or all, the newest first. */
  *newest(of?: ChatFilter): Generator<readonly [SessionKey, SessionEntry]> {
    for (const key of this.#index.newest(of)) {
      const row = this.#rows.get(key);
      if (row) yield [key, row];
    }
  }

  /** Changes a row, or removes it; the journal has it within three seconds. */
  set(key: SessionKey, row: SessionEntry | undefined): void {
    const isListed = this.#rows.has(key) !== (row !== undefined);
    this.#put(key, row);
    this.#export.changed(key, isListed);
  }

  /**
   * Changes fields of a row; `row` is added when there is none. Resolves with the row when that is durable. Rejects with DISK_FULL
   * or DISK_WRITE, and the row is then as before.
   */
  async patchNow(key: SessionKey, row: SessionEntry, patch: SessionPatch): Promise<SessionEntry> {
    const before = this.#rows.get(key);
    const patched = patchRow(row, patch);
    this.set(key, patched);
    try {
      await this.flush();
      return patched;
    } catch (error) {
      const now = this.#rows.get(key);
      if (now) this.set(key, before && takenBack(now, patch, before));
      throw error;
    }
  }

  /** Resolves when every change so far is durable. Calls of one moment share a write. Rejects with DISK_FULL or DISK_WRITE. */
  flush(): Promise<void> {
    this.#next ??= this.#writing.then(() => {
      this.#next = undefined;
      const write = this.#write();
      // Whoever asked for this write gets its failure; the next write only waits for its end.
      this.#writing = write.catch(() => undefined);
      return write;
    });
    return this.#next;
  }

  /** Writes the journal and `sessions.json`. Rejects when the journal cannot be written. */
  async close(): Promise<void> {
    try {
      await this.flush();
    } finally {
      this.#forget?.();
      await this.#export.close();
    }
  }

  #put(key: SessionKey, row: SessionEntry | undefined): void {
    const was = this.#rows.get(key);
    if (was) this.#index.remove(key, was);
    if (row) {
      const kept = keptRow(row, this.#options.dir, this.#options.earlier);
      this.#rows.set(key, kept);
      this.#index.add(key, kept);
    } else this.#rows.delete(key);
    if (row && !hasSameSettings(was, row)) this.settingChanges.publish(key);
    this.#dirty.add(key);
    this.#writeSoon();
  }

  #writeSoon(): void {
    this.#forget ??= this.#options.clock.after(BATCH_MS, () => {
      this.#forget = undefined;
      this.flush().catch((error: unknown) =>
        this.#options.log.error("session rows were not written; it is tried again", { error }),
      );
    });
  }

  async #write(): Promise<void> {
    this.#forget?.();
    this.#forget = undefined;
    if (this.#dirty.size === 0) return;
    const written = this.#dirty;
    this.#dirty = new Set();
    try {
      await this.#options.table.write([...written].map((key) => [key, this.#rows.get(key)]));
    } catch (error) {
      for (const key of written) this.#dirty.add(key);
      this.#writeSoon();
      throw error;
    }
  }
}
