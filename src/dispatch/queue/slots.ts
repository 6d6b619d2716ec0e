/** Limits how many runs are active at once, over all sessions. First come, first served. */
export class Slots {
  readonly #limit: () => number;
  readonly #queue: (() => void)[] = [];
  #taken = 0;

  constructor(limit: () => number) {
    this.#limit = limit;
  }

  async use<T>(task: () => Promise<T>): Promise<T> {
    if (this.#taken >= this.#limit()) await new Promise<void>((resolve) => this.#queue.push(resolve));
    else this.#taken += 1;
    try {
      return await task();
    } finally {
      const next = this.#queue.shift();
      if (next) next();
      else this.#taken -= 1;
    }
  }
}
