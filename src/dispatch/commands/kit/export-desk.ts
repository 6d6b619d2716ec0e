import type { SessionKey } from "../../../types/ids.ts";
import { KeyedQueue } from "../../../utils/keyed-queue.ts";

/** Lets one export be made at a time, since each has a whole transcript in memory. */
export class ExportDesk {
  readonly #queue = new KeyedQueue();
  readonly #asked = new Set<SessionKey>();

  /**
   * Makes an export when the exports before it are done. Undefined while another export of the same conversation waits
   * or is made.
   */
  async make<T>(key: SessionKey, work: () => Promise<T>): Promise<T | undefined> {
    if (this.#asked.has(key)) return undefined;
    this.#asked.add(key);
    try {
      return await this.#queue.run("export", work);
    } finally {
      this.#asked.delete(key);
    }
  }
}
