export interface StepLimits {
  readonly least: number;
  readonly most: number;
  /** Milliseconds that one step should take. */
  readonly ms: number;
}

/**
 * How many rows or pages one step of a longer work takes, so that it occupies the event loop for a limited time on a fast and
 * on a slow machine. The first step takes the least.
 */
export class StepSize {
  readonly #limits: StepLimits;
  #size: number;

  constructor(limits: StepLimits) {
    this.#limits = limits;
    this.#size = limits.least;
  }

  get size(): number {
    return this.#size;
  }

  /** Chooses the next size from a step that did so much in so many milliseconds. At most doubles it. */
  took(done: number, ms: number): void {
    const { least, most, ms: wanted } = this.#limits;
    const fits = Math.floor(Math.min(this.#size * 2, (done * wanted) / ms));
    this.#size = Math.min(most, Math.max(least, fits));
  }
}
