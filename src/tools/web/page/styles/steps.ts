/** Steps that the rules of one page may take: some tenths of a second. */
const MOST_STEPS = 3_000_000;

/** Thrown in the middle of a rule when there are none left. */
export class StepsTaken extends Error {}
const TAKEN = new StepsTaken("the rules of a page took too long");

/** Counts what rules look at, so that no page keeps its reader busy with them. */
export class Steps {
  #left = MOST_STEPS;

  get isOver(): boolean {
    return this.#left <= 0;
  }

  /** Always true. Throws `StepsTaken` when there are none left. */
  take(count: number): true {
    this.#left -= count;
    if (this.#left <= 0) throw TAKEN;
    return true;
  }
}
