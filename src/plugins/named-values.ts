/** Decides which of two contributors has a name that both add. */
export interface Precedence {
  /**
   * `first`: a slot names this contributor, so that it has the name before all others. `none`: all its values are out
   * of use, because a slot names another contributor.
   */
  rankOf(owner: string): "first" | "usual" | "none";
  /** Whether `owner` may add a name that `taken` has: a slot or the end of `taken` decides between them. */
  mayShare(owner: string, taken: string): boolean;
}

interface Added<T> {
  readonly owner: string;
  readonly value: T;
}

/** Values of one kind by their names, each with the contributor that added it. Of several with one name one counts. */
export class NamedValues<T> {
  readonly #what: string;
  readonly #precedence: Precedence;
  /** Values of a name in the order in which they were added; few names have more than one. */
  readonly #added = new Map<string, readonly Added<T>[]>();
  #current: ReadonlyMap<string, Added<T>> | undefined;
  #list: readonly T[] | undefined;

  /** `what`: the kind, for errors. */
  constructor(what: string, precedence: Precedence) {
    this.#what = what;
    this.#precedence = precedence;
  }

  /** Values that count, in the order in which they were added. */
  get list(): readonly T[] {
    this.#list ??= [...this.#shown.values()].map(({ value }) => value);
    return this.#list;
  }

  get(name: string): T | undefined {
    return this.#shown.get(name)?.value;
  }

  ownerOf(name: string): string | undefined {
    return this.#shown.get(name)?.owner;
  }

  /** Throws when a contributor has the name that does not share it. */
  add(owner: string, name: string, value: T): void {
    const others = this.#added.get(name) ?? [];
    if (others.some((one) => one.owner === owner)) throw new Error(`${owner} adds the ${this.#what} "${name}" twice`);
    const taken = others.find((one) => !this.#precedence.mayShare(owner, one.owner));
    if (taken) throw new Error(`${owner} adds the ${this.#what} "${name}", which ${taken.owner} has added already`);
    this.#added.set(name, [...others, { owner, value }]);
    this.refresh();
  }

  removeOf(owner: string): void {
    for (const [name, all] of this.#added) {
      const left = all.filter((one) => one.owner !== owner);
      if (left.length === 0) this.#added.delete(name);
      else if (left.length < all.length) this.#added.set(name, left);
    }
    this.refresh();
  }

  /** The precedence has changed. */
  refresh(): void {
    this.#current = undefined;
    this.#list = undefined;
  }

  /** All names, also of values that do not count now. */
  get names(): readonly string[] {
    return [...this.#added.keys()];
  }

  namesOf(owner: string): readonly string[] {
    return [...this.#shown].flatMap(([name, added]) => (added.owner === owner ? [name] : []));
  }

  entries(): readonly (readonly [string, T])[] {
    return [...this.#shown].map(([name, { value }]) => [name, value]);
  }

  /** The value of each name that counts. */
  get #shown(): ReadonlyMap<string, Added<T>> {
    this.#current ??= new Map(
      [...this.#added].flatMap(([name, all]) => {
        const ranked = (rank: ReturnType<Precedence["rankOf"]>) =>
          all.find(({ owner }) => this.#precedence.rankOf(owner) === rank);
        const first = ranked("first") ?? ranked("usual");
        return first ? [[name, first] as const] : [];
      }),
    );
    return this.#current;
  }
}
