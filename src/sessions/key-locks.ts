/** One holder for each key. Waiting callers get it in the order of their calls. */
export class KeyLocks {
  readonly #tails = new Map<string, Promise<void>>();

  /** Resolves with the function that releases the key. A second call of it does nothing. */
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
