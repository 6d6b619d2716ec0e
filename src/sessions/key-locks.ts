/** One holder per key; those who wait get it in the order in which they asked. */
export class KeyLocks {
  readonly #tails = new Map<string, Promise<void>>();

  /** Resolves with the function that gives the lock back; calling that twice is harmless. */
  async take(key: string): Promise<() => void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const before = this.#tails.get(key);
    this.#tails.set(key, promise);
    await before;
    return () => {
      if (this.#tails.get(key) === promise) this.#tails.delete(key);
      resolve();
    };
  }
}
