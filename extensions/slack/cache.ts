/** Values that are loaded once and kept for a while. The least recently used are dropped first. */
export class Cache<Value> {
  readonly #entries = new Map<string, { readonly value: Promise<Value | undefined>; readonly until: number }>();
  readonly #size: number;
  readonly #keepMs: number;

  constructor(size: number, keepMs: number) {
    this.#size = size;
    this.#keepMs = keepMs;
  }

  /** Undefined when `load` fails or takes until after `until`. A failure is remembered for a minute at most. */
  async get(key: string, load: () => Promise<Value | undefined>, until: number): Promise<Value | undefined> {
    const found = this.#entries.get(key);
    const value = found && found.until > Date.now() ? found.value : this.#load(key, load);
    if (found) this.#touch(key);
    return byThen(value, until);
  }

  #load(key: string, load: () => Promise<Value | undefined>): Promise<Value | undefined> {
    const value = load().catch(() => {
      this.#entries.set(key, { value: Promise.resolve(undefined), until: Date.now() + Math.min(60_000, this.#keepMs) });
      return undefined;
    });
    this.#entries.delete(key);
    this.#entries.set(key, { value, until: Date.now() + this.#keepMs });
    const oldest = this.#entries.keys().next();
    if (this.#entries.size > this.#size && oldest.done !== true) this.#entries.delete(oldest.value);
    return value;
  }

  #touch(key: string): void {
    const entry = this.#entries.get(key);
    if (!entry) return;
    this.#entries.delete(key);
    this.#entries.set(key, entry);
  }
}

/**
 * Resolves as `value` does, with undefined when that takes until after an epoch millisecond. A value that is there is
 * returned even after that time.
 */
export async function byThen<Value>(value: Promise<Value | undefined>, until: number): Promise<Value | undefined> {
  const late = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => late.resolve(undefined), Math.max(0, until - Date.now()));
  try {
    return await Promise.race([value, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
