import type { Clock } from "../../types/clock.ts";

const MINUTE = 60_000;
/**
 * Minutes after the first, second, third and every further consecutive turn in which an engine hung. The same steps as for
 * keys.
 */
const STEPS = [1, 5, 25, 60] as const;

interface Spell {
  readonly hangs: number;
  /** Epoch milliseconds. */
  readonly until: number;
  /** A turn is calling the engine again. */
  readonly isProbed: boolean;
  readonly ownsCompaction: boolean;
}

/** Facts about an engine's cooldown for a turn without the engine. */
export interface Resting {
  /** Epoch milliseconds. */
  readonly until: number;
  readonly ownsCompaction: boolean;
}

/** Engines that hang are not called for a while, so that not every turn waits in vain. */
export class EngineCooldowns {
  readonly #clock: Pick<Clock, "now">;
  readonly #spells = new Map<string, Spell>();

  constructor(clock: Pick<Clock, "now">) {
    this.#clock = clock;
  }

  /**
   * The cooldown of the engine; undefined when it may be called. After a cooldown one turn calls the engine, and the
   * others continue without it for at most `probeMs`.
   */
  claim(engine: string, probeMs: number): Resting | undefined {
    const spell = this.#spells.get(engine);
    if (!spell) return undefined;
    const now = this.#clock.now();
    if (spell.until > now) return spell;
    this.#spells.set(engine, { ...spell, until: now + probeMs, isProbed: true });
    return undefined;
  }

  /**
   * Records that the engine did not answer in time. A call that began before the cooldown and ends during it counts as part of
   * the same failure.
   */
  hung(engine: string, { ownsCompaction }: Pick<Resting, "ownsCompaction">): void {
    const spell = this.#spells.get(engine);
    const now = this.#clock.now();
    if (spell && spell.until > now && !spell.isProbed) return;
    const hangs = (spell?.hangs ?? 0) + 1;
    const ms = (STEPS[hangs - 1] ?? STEPS[3]) * MINUTE;
    this.#spells.set(engine, { hangs, until: now + ms, isProbed: false, ownsCompaction });
  }

  /** Records that a whole turn succeeded. The engine starts again without failures. */
  answered(engine: string): void {
    const spell = this.#spells.get(engine);
    if (spell?.isProbed === true) this.#spells.delete(engine);
  }
}
