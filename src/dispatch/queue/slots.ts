/** The slots of all runs, and those of subagents at each depth. */
export class SlotsByDepth {
  readonly #top: Slots;
  readonly #below = new Map<number, Slots>();
  readonly #limitBelow: () => number;

  constructor(limits: { top(): number; below(): number }) {
    this.#top = new Slots(() => limits.top());
    this.#limitBelow = () => limits.below();
  }

  /** `depth`: see `TurnKind.depth`. */
  at(depth: number): Slots {
    if (depth === 0) return this.#top;
    const slots = this.#below.get(depth) ?? new Slots(this.#limitBelow);
    this.#below.set(depth, slots);
    return slots;
  }
}

/** Limits how many runs are active at once, over all sessions. First come, first served. */
class Slots {
  readonly #limit: () => number;
  readonly #queue: (() => void)[] = [];
  #taken = 0;

  constructor(limit: () => number) {
    this.#limit = limit;
  }

  async use<T>(task: () => Promise<T>): Promise<T> {
    if (this.#taken >= this.#limit()) await new Promise<void>((resolve) => this.#queue.push(resolve));
    else this.#taken += 1;
    try {
      return await task();
    } finally {
      const next = this.#queue.shift();
      if (next) next();
      else this.#taken -= 1;
    }
  }
}
