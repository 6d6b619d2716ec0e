import { background } from "./background.ts";

/** Runs tasks of one key one after the other, tasks of different keys side by side. */
export class KeyedQueue {
  readonly #tails = new Map<string, Promise<void>>();

  /** Rejects as the task does; the next one runs all the same. */
  run<T>(key: string, task: () => Promise<T>): Promise<T> {
    const before = this.#tails.get(key) ?? Promise.resolve();
    const result = before.then(task);
    const tail = result.then(nothing, nothing);
    this.#tails.set(key, tail);
    const cleared = tail.then(() => {
      if (this.#tails.get(key) === tail) this.#tails.delete(key);
    });
    background("end of a queue", cleared);
    return result;
  }

  /** True while a task of this key waits or runs. */
  isBusy(key: string): boolean {
    return this.#tails.has(key);
  }

  /** Resolves when everything that was there is done. */
  async idle(): Promise<void> {
    while (this.#tails.size > 0) await Promise.all(this.#tails.values());
  }
}

const nothing = () => undefined;

/** Limits how many tasks are active at once. First come, first served. A changed limit counts whenever a task comes or ends. */
export class Slots {
  readonly #limit: () => number;
  readonly #waiting: (() => void)[] = [];
  #taken = 0;

  constructor(limit: () => number) {
    this.#limit = limit;
  }

  async use<T>(task: () => Promise<T>): Promise<T> {
    if (this.#waiting.length > 0 || this.#taken >= this.#limit()) {
      const turn = new Promise<void>((resolve) => this.#waiting.push(resolve));
      this.#fill();
      await turn;
    } else this.#taken += 1;
    try {
      return await task();
    } finally {
      this.#taken -= 1;
      this.#fill();
    }
  }

  #fill(): void {
    while (this.#waiting.length > 0 && this.#taken < this.#limit()) {
      this.#taken += 1;
      this.#waiting.shift()?.();
    }
  }
}
