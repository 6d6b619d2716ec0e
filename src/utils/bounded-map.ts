import { forgetOldest } from "./forget-oldest.ts";

/** A map of at most `limit` entries: one more removes the entry that was set longest ago. */
export class BoundedMap<K, V> extends Map<K, V> {
  readonly #limit: number;

  constructor(limit: number, entries: Iterable<readonly [K, V]> = []) {
    super();
    this.#limit = limit;
    for (const [key, value] of entries) this.set(key, value);
  }

  /** The value of a key, which is made when it is missing. Reading it again does not count as setting it. */
  of(key: K, make: () => V): V {
    const known = this.get(key);
    if (known !== undefined) return known;
    const made = make();
    this.set(key, made);
    return made;
  }

  override set(key: K, value: V): this {
    this.delete(key);
    super.set(key, value);
    forgetOldest(this, this.#limit);
    return this;
  }
}
