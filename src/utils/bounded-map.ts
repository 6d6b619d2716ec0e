import { forgetOldest } from "./forget-oldest.ts";

/** A map of at most `limit` entries: one more removes the entry that was set longest ago. */
export class BoundedMap<K, V> extends Map<K, V> {
  readonly #limit: number;

  constructor(limit: number, entries: Iterable<readonly [K, V]> = []) {
    super();
    this.#limit = limit;
    for (const [key, value] of entries) this.set(key, value);
  }

  override set(key: K, value: V): this {
    this.delete(key);
    super.set(key, value);
    forgetOldest(this, this.#limit);
    return this;
  }
}
