/** Keeps the last `limit` entries; the one that was set longest ago is dropped first. */
export class BoundedMap<T> {
  readonly #limit: number;
  readonly #entries = new Map<string, T>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  get(name: string): T | undefined {
    return this.#entries.get(name);
  }

  set(name: string, value: T): void {
    this.#entries.delete(name);
    this.#entries.set(name, value);
    if (this.#entries.size <= this.#limit) return;
    const [oldest] = this.#entries.keys();
    if (oldest !== undefined) this.#entries.delete(oldest);
  }

  delete(name: string): void {
    this.#entries.delete(name);
  }

  entries(): readonly (readonly [string, T])[] {
    return [...this.#entries];
  }
}
