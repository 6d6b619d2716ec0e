import type { SessionKey } from "../../types/ids.ts";
import type { InboxRow } from "../../types/journal.ts";
import { Feed } from "../../utils/feed.ts";

/** Informs watchers which sessions have other messages waiting than before. */
export class WaitingFeed {
  readonly #feed = new Feed<SessionKey>();
  /** The ids of the messages that waited at the last report; sessions without one are left out. */
  readonly #reported = new Map<SessionKey, string>();
  readonly #due = new Set<SessionKey>();
  readonly #rowsOf: (key: SessionKey) => readonly InboxRow[];

  /** `rowsOf` gives the messages that wait in a session now. */
  constructor(rowsOf: (key: SessionKey) => readonly InboxRow[]) {
    this.#rowsOf = rowsOf;
  }

  /** Compares what waits in a session, soon: a message that begins at once is not reported as waiting. */
  check(key: SessionKey): void {
    if (this.#due.size === 0) setImmediate(() => this.#compare());
    this.#due.add(key);
  }

  watch(signal: AbortSignal): AsyncIterable<SessionKey> {
    return this.#feed.watch(signal);
  }

  #compare(): void {
    const due = [...this.#due];
    this.#due.clear();
    for (const key of due) {
      const now = this.#rowsOf(key)
        .map(({ id }) => id)
        .join(" ");
      if (now === (this.#reported.get(key) ?? "")) continue;
      if (now === "") this.#reported.delete(key);
      else this.#reported.set(key, now);
      this.#feed.publish(key);
    }
  }
}
