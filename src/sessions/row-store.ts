import { stat } from "node:fs/promises";
import { writeAtomic } from "../store/disk.ts";
import type { Clock } from "../types/clock.ts";
import type { AgentId, SessionKey } from "../types/ids.ts";
import type { Log } from "../types/log.ts";
import type { SessionEntry } from "../types/session.ts";
import { errorText } from "../utils/error-text.ts";
import { unlessMissing } from "../utils/missing.ts";
import { loadRows, printRows, readRowsFile, type Rows, rowsPath } from "./rows-file.ts";

const BATCH_MS = 3000;

export interface RowStoreOptions {
  readonly dir: string;
  readonly defaultAgent: AgentId;
  readonly log: Log;
  readonly clock: Clock;
}

/** sessions.json in memory. Changes reach the file within seconds, or at once; what other programs wrote meanwhile is kept. */
export class RowStore {
  readonly #options: RowStoreOptions;
  #rows: Rows;
  /** Keys changed here since the last write. */
  #dirty = new Set<SessionKey>();
  #seen: string;
  #forget: (() => void) | undefined;
  #writing: Promise<void> = Promise.resolve();
  #next: Promise<void> | undefined;

  private constructor(options: RowStoreOptions, rows: Rows, seen: string) {
    this.#options = options;
    this.#rows = rows;
    this.#seen = seen;
  }

  static async open(options: RowStoreOptions): Promise<RowStore> {
    const seen = await version(rowsPath(options.dir));
    const { dir, log, clock, defaultAgent } = options;
    return new RowStore(options, await loadRows(dir, { log, defaultAgent, now: () => clock.now() }), seen);
  }

  get(key: SessionKey): SessionEntry | undefined {
    return this.#rows.rows.get(key);
  }

  list(): readonly (readonly [SessionKey, SessionEntry])[] {
    return [...this.#rows.rows];
  }

  /** Changes a row, or removes it; the file follows within three seconds. */
  set(key: SessionKey, row: SessionEntry | undefined): void {
    if (row) this.#rows.rows.set(key, row);
    else this.#rows.rows.delete(key);
    this.#dirty.add(key);
    this.#forget ??= this.#options.clock.after(BATCH_MS, () => {
      this.flush().catch((error: unknown) => this.#options.log.error("sessions.json was not written", { error }));
    });
  }

  /** Resolves when every change so far is on disk. Calls of one moment share a write. Rejects with DISK_FULL or DISK_WRITE. */
  flush(): Promise<void> {
    this.#next ??= this.#writing.then(() => {
      this.#next = undefined;
      const write = this.#write();
      this.#writing = write.catch(() => undefined);
      return write;
    });
    return this.#next;
  }

  async #write(): Promise<void> {
    this.#forget?.();
    this.#forget = undefined;
    const path = rowsPath(this.#options.dir);
    if (this.#dirty.size === 0) return;
    if ((await version(path)) !== this.#seen) await this.#adoptOthers();
    const written = this.#dirty;
    this.#dirty = new Set();
    try {
      await writeAtomic(path, printRows(this.#rows));
    } catch (error) {
      for (const key of written) this.#dirty.add(key);
      throw error;
    }
    this.#seen = await version(path);
  }

  /** Another program wrote the file: its rows stand, but for those changed here. */
  async #adoptOthers(): Promise<void> {
    const { dir, defaultAgent, log } = this.#options;
    try {
      const theirs = await readRowsFile(dir, defaultAgent);
      if (!theirs) return;
      for (const key of this.#dirty) {
        const ours = this.#rows.rows.get(key);
        if (ours) theirs.rows.set(key, ours);
        else theirs.rows.delete(key);
      }
      this.#rows = theirs;
    } catch (error) {
      const reason = errorText(error);
      log.warn("another program left a sessions.json that cannot be read; ours replaces it", { reason });
    }
  }
}

/** Changes when the file does. */
async function version(path: string): Promise<string> {
  const found = await unlessMissing(stat(path, { bigint: true }));
  return found ? `${found.ino}/${found.size}/${found.mtimeNs}` : "";
}
