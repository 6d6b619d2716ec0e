import { AsyncQueue } from "./async-queue.ts";

/** Publishes values to the current watchers. Each watcher has its own queue, so a slow one does not delay the others. */
export class Feed<T> {
  readonly #queues = new Set<AsyncQueue<T>>();

  publish(value: T): void {
    for (const queue of this.#queues) queue.push(value);
  }

  /** Begins at once, not at the first read. Ends when the signal aborts or the reader leaves its loop. */
  watch(signal?: AbortSignal): AsyncIterableIterator<T> {
    const stop = () => queue.end();
    const queue = new AsyncQueue<T>(() => {
      this.#queues.delete(queue);
      signal?.removeEventListener("abort", stop);
    });
    this.#queues.add(queue);
    if (signal?.aborted) queue.end();
    else signal?.addEventListener("abort", stop, { once: true });
    return queue;
  }

  /** Ends every watcher after what it still holds. */
  close(): void {
    for (const queue of this.#queues) queue.end();
  }
}
