/** Values by key, up to a total size. The least recently used are removed first. */
export class SizedCache<V> {
  readonly #limit: number;
  readonly #sizeOf: (value: V) => number;
  readonly #values = new Map<string, V>();
  #size = 0;

  constructor(limit: number, sizeOf: (value: V) => number) {
    this.#limit = limit;
    this.#sizeOf = sizeOf;
  }

  get(key: string): V | undefined {
    const value = this.#values.get(key);
    if (value === undefined) return undefined;
    this.#values.delete(key);
    this.#values.set(key, value);
    return value;
  }

  set(key: string, value: V): void {
    this.#drop(key);
    this.#values.set(key, value);
    this.#size += this.#sizeOf(value);
    for (const oldest of this.#values.keys()) {
      if (this.#size <= this.#limit || this.#values.size === 1) break;
      this.#drop(oldest);
    }
  }

  #drop(key: string): void {
    const value = this.#values.get(key);
    if (value === undefined) return;
    this.#values.delete(key);
    this.#size -= this.#sizeOf(value);
  }
}
