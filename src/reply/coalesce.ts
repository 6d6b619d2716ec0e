/** The clock of a coalescer; milliseconds. */
export interface CoalesceClock {
  now(): number;
}

export interface CoalescerOptions {
  /** UTF-16 units from which on a block is released at once. */
  readonly minChars: number;
  /** UTF-16 units that joined blocks do not exceed; a longer block is released alone. */
  readonly maxChars: number;
  /** Milliseconds without a new block after which the waiting text is due. */
  readonly idleMs: number;
  readonly clock: CoalesceClock;
  /** The text between joined blocks; a blank line by default. */
  readonly joiner?: string;
}

/** Joins small blocks that come soon after each other. It sets no timers: its owner calls `tick` when `due` has come. */
export interface Coalescer {
  /** Returns the blocks that are ready now. */
  push(block: string): string[];
  /** When the waiting text is due, in the clock's milliseconds; `undefined` when nothing waits. */
  due(): number | undefined;
  /** Returns the waiting text when it is due. */
  tick(): string[];
  /** Returns the waiting text. */
  flush(): string[];
}

/** Makes a coalescer. The joined output is the joined input; order is kept. Never throws. */
export function createCoalescer(options: CoalescerOptions): Coalescer {
  const { minChars, maxChars, idleMs, clock, joiner = "\n\n" } = options;
  let waiting = "";
  let dueAt: number | undefined;
  const take = (): string[] => {
    const ready = waiting === "" ? [] : [waiting];
    waiting = "";
    dueAt = undefined;
    return ready;
  };
  return {
    push(block) {
      if (block === "") return [];
      const fits = waiting !== "" && waiting.length + joiner.length + block.length <= maxChars;
      const ready = fits ? [] : take();
      waiting = fits ? waiting + joiner + block : block;
      dueAt = clock.now() + idleMs;
      return waiting.length >= minChars ? [...ready, ...take()] : ready;
    },
    due: () => dueAt,
    tick: () => (dueAt !== undefined && clock.now() >= dueAt ? take() : []),
    flush: take,
  };
}
