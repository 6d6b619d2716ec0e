import { createHash } from "node:crypto";
import { forgetOldest } from "../../utils/forget-oldest.ts";

/** How many of the model's latest turns count, and in how many of them one call may have the same result. */
const REMEMBERED = 60;
const WARN_AT = 6;
const STOP_AT = 12;
/** Turns in a row that may bring nothing new: this notices wider circles. */
const STALE_WARN = 30;
const STALE_STOP = 60;
/** Pairs of a call and its result that are remembered, the latest. */
const MOST_PAIRS = 1000;

/** A call as the guard counts it: by name and arguments. */
export interface SeenCall {
  readonly name: string;
  readonly args: unknown;
}

/** Notices a model that repeats itself: the same calls with the same results, one by one or several in turn. */
export class LoopGuard {
  /** The turns in which each pair came, oldest first; the map is in the order in which the pairs came last. */
  readonly #pairs = new Map<string, readonly number[]>();
  #turn = 1;
  /** The last turn that brought a pair for the first time. */
  #freshAt = 1;
  #last: string | undefined;
  /** Name of the tool, once the run is to end. */
  stoppedBy: string | undefined;

  /** Takes a finished call. True when the model is to be warned. The same pair counts once a turn. */
  saw(call: SeenCall, result: string): boolean {
    const pair = createHash("sha1")
      .update(JSON.stringify([call.name, call.args, result]))
      .digest("base64");
    this.#last = call.name;
    const before = this.#pairs.get(pair);
    if (!before) this.#freshAt = this.#turn;
    if (before?.at(-1) === this.#turn) return false;
    const times = [...(before ?? []).filter((turn) => turn > this.#turn - REMEMBERED), this.#turn];
    this.#keep(pair, times);
    if (times.length >= STOP_AT) this.stoppedBy = call.name;
    return times.length === WARN_AT || this.#turn - this.#freshAt === STALE_WARN;
  }

  /** The model has seen the results of this turn and may do better. */
  endTurn(): void {
    if (this.#last === undefined) return;
    if (this.#turn - this.#freshAt >= STALE_STOP) this.stoppedBy ??= this.#last;
    this.#turn += 1;
    this.#last = undefined;
  }

  #keep(pair: string, times: readonly number[]): void {
    this.#pairs.delete(pair);
    this.#pairs.set(pair, times);
    forgetOldest(this.#pairs, MOST_PAIRS);
  }
}

/** Appended to a result that the model has had before. */
export const LOOP_WARNING =
  "[This very call has given this very result before, and goes on doing so. Change the approach, or tell the user what is missing.]";
