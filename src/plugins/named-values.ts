/** Values of one kind by their unique names, each with the contributor that added it. */
export class NamedValues<T> {
  readonly #what: string;
  readonly #values = new Map<string, { readonly owner: string; readonly value: T }>();
  #list: readonly T[] | undefined;

  /** `what`: the kind, for errors. */
  constructor(what: string) {
    this.#what = what;
  }

  /** In the order in which they were added. */
  get list(): readonly T[] {
    this.#list ??= [...this.#values.values()].map(({ value }) => value);
    return this.#list;
  }

  get(name: string): T | undefined {
    return this.#values.get(name)?.value;
  }

  ownerOf(name: string): string | undefined {
    return this.#values.get(name)?.owner;
  }

  /** Throws when the name is taken. */
  add(owner: string, name: string, value: T): void {
    const taken = this.#values.get(name);
    if (taken?.owner === owner) throw new Error(`${owner} adds the ${this.#what} "${name}" twice`);
    if (taken) throw new Error(`${owner} adds the ${this.#what} "${name}", which ${taken.owner} has added already`);
    this.#values.set(name, { owner, value });
    this.#list = undefined;
  }

  removeOf(owner: string): void {
    for (const [name, added] of this.#values) if (added.owner === owner) this.#values.delete(name);
    this.#list = undefined;
  }

  namesOf(owner: string): readonly string[] {
    return [...this.#values].flatMap(([name, added]) => (added.owner === owner ? [name] : []));
  }

  entries(): readonly (readonly [string, T])[] {
    return [...this.#values].map(([name, { value }]) => [name, value]);
  }
}
