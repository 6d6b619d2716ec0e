import { AsyncQueue } from "./async-queue.ts";

/** Publishes values to the current watchers. Each watcher has its own queue, so a slow one does not delay the others. */
export class Feed<T> {
  readonly #queues = new Map<AsyncQueue<T>, (value: T) => boolean>();

  publish(value: T): void {
    for (const [queue, fits] of this.#queues) if (fits(value)) queue.push(value);
  }

  /**
   * Begins at once, not at the first read. Ends when the signal aborts or the reader leaves its loop. `fits` is asked when a value is
   * published.
   */
  watch(signal?: AbortSignal, fits: (value: T) => boolean = () => true): AsyncIterableIterator<T> {
    const stop = () => queue.end();
    const queue = new AsyncQueue<T>(() => {
      this.#queues.delete(queue);
      signal?.removeEventListener("abort", stop);
    });
    this.#queues.set(queue, fits);
    if (signal?.aborted) queue.end();
    else signal?.addEventListener("abort", stop, { once: true });
    return queue;
  }

  /** Ends every watcher after its remaining values. */
  close(): void {
    for (const queue of this.#queues.keys()) queue.end();
  }
}

/** Publishes values under keys, to the watchers of each key. A key is kept until the signals of its watchers abort. */
export class KeyedFeed<K, T> {
  readonly #feeds = new Map<K, { readonly feed: Feed<T>; watchers: number }>();

  publish(key: K, value: T): void {
    this.#feeds.get(key)?.feed.publish(value);
  }

  /** As `Feed.watch`. */
  watch(key: K, signal: AbortSignal, fits: (value: T) => boolean = () => true): AsyncIterableIterator<T> {
    const known = this.#feeds.get(key) ?? { feed: new Feed<T>(), watchers: 0 };
    if (signal.aborted) return known.feed.watch(signal, fits);
    this.#feeds.set(key, known);
    known.watchers += 1;
    signal.addEventListener("abort", () => this.#leave(key, known), { once: true });
    return known.feed.watch(signal, fits);
  }

  #leave(key: K, known: { watchers: number }): void {
    known.watchers -= 1;
    if (known.watchers === 0) this.#feeds.delete(key);
  }
}
