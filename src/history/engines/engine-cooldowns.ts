import type { Clock } from "../../types/clock.ts";

const MINUTE = 60_000;
/** Minutes after the first, second, third and every further turn in a row in which an engine hung; the keys' own steps. */
const STEPS = [1, 5, 25, 60] as const;

interface Spell {
  readonly hangs: number;
  /** Epoch milliseconds. */
  readonly until: number;
  /** One turn asks it again. */
  readonly isProbed: boolean;
  readonly ownsCompaction: boolean;
}

/** An engine that is left alone, as far as a turn without it must know it. */
export interface Resting {
  /** Epoch milliseconds. */
  readonly until: number;
  readonly ownsCompaction: boolean;
}

/** Engines that hang are left alone for a while, so that not every turn waits for one in vain. */
export class EngineCooldowns {
  readonly #clock: Pick<Clock, "now">;
  readonly #spells = new Map<string, Spell>();

  constructor(clock: Pick<Clock, "now">) {
    this.#clock = clock;
  }

  /**
   * How long the engine is in cooldown; undefined when it may be called. After a cooldown one turn calls it, and the others continue without
   * it for at most `probeMs`.
   */
  claim(engine: string, probeMs: number): Resting | undefined {
    const spell = this.#spells.get(engine);
    if (!spell) return undefined;
    const now = this.#clock.now();
    if (spell.until > now) return spell;
    this.#spells.set(engine, { ...spell, until: now + probeMs, isProbed: true });
    return undefined;
  }

  /** It did not answer in time. What began before a rest and ends within it belongs to the same hang. */
  hung(engine: string, { ownsCompaction }: Pick<Resting, "ownsCompaction">): void {
    const spell = this.#spells.get(engine);
    const now = this.#clock.now();
    if (spell && spell.until > now && !spell.isProbed) return;
    const hangs = (spell?.hangs ?? 0) + 1;
    const ms = (STEPS[hangs - 1] ?? STEPS[3]) * MINUTE;
    this.#spells.set(engine, { hangs, until: now + ms, isProbed: false, ownsCompaction });
  }

  /** A whole turn went well: it is as good as before. */
  answered(engine: string): void {
    const spell = this.#spells.get(engine);
    if (spell?.isProbed === true) this.#spells.delete(engine);
  }
}
