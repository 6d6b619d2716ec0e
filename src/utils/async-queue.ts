/** A queue with one reader, which waits until there is a value. `end` ends it after its remaining values. */
export class AsyncQueue<T> implements AsyncIterableIterator<T> {
  readonly #values: T[] = [];
  readonly #onEnd: () => void;
  #resume: (() => void) | undefined;
  #ended = false;

  constructor(onEnd: () => void = () => undefined) {
    this.#onEnd = onEnd;
  }

  push(value: T): void {
    if (this.#ended) return;
    this.#values.push(value);
    this.#resume?.();
  }

  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#onEnd();
    this.#resume?.();
  }

  async next(): Promise<IteratorResult<T>> {
    while (this.#values.length === 0 && !this.#ended) {
      await new Promise<void>((resolve) => {
        this.#resume = resolve;
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
