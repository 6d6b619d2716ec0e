/** Publishes values to the current watchers. Each watcher has its own queue, so a slow one does not delay the others. */
export class Feed<T> {
  readonly #queues = new Set<Queue<T>>();

  publish(value: T): void {
    for (const queue of this.#queues) queue.push(value);
  }

  /** Begins at once, not at the first read. Ends when the signal aborts or the reader leaves its loop. */
  watch(signal?: AbortSignal): AsyncIterableIterator<T> {
    const stop = () => queue.end();
    const queue = new Queue<T>(() => {
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

/** A single reader's queue. */
export class Queue<T> implements AsyncIterableIterator<T> {
  readonly #values: T[] = [];
  readonly #onEnd: () => void;
  #wake: (() => void) | undefined;
  #ended = false;

  constructor(onEnd: () => void = () => undefined) {
    this.#onEnd = onEnd;
  }

  push(value: T): void {
    if (this.#ended) return;
    this.#values.push(value);
    this.#wake?.();
  }

  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#onEnd();
    this.#wake?.();
  }

  async next(): Promise<IteratorResult<T>> {
    while (this.#values.length === 0 && !this.#ended) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    const value = this.#values.shift();
    return value === undefined ? { done: true, value: undefined } : { done: false, value };
  }

  async return(): Promise<IteratorResult<T>> {
    this.#values.length = 0;
    this.end();
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}
