import type { Clock } from "../../types/clock.ts";

/** Model calls of one plugin at one time, and calls that wait for their turn. */
const AT_ONCE = 8;
const MOST_WAITING = 200;
/**
 * Milliseconds from a call's begin after which it is rejected: a plugin that tries again at once would let nobody else
 * work.
 */
const FAILED_MS = 100;

interface Owner {
  readonly id: string;
  readonly clock: Clock;
  /** Aborted when the plugin is unloaded. */
  readonly signal: AbortSignal;
}

/** The model calls of a plugin, of which only a few run at one time. */
export class ModelCalls {
  readonly #owner: Owner;
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(owner: Owner) {
    this.#owner = owner;
  }

  /** Rejects as the call does, when too many wait, and once the plugin is unloaded; never at once. */
  async run<T>(call: () => Promise<T>): Promise<T> {
    const { clock } = this.#owner;
    const begun = clock.now();
    try {
      return await this.#inTurn(call);
    } catch (error) {
      const left = begun + FAILED_MS - clock.now();
      if (left > 0) await new Promise<void>((resolve) => clock.after(left, resolve));
      throw error;
    }
  }

  async #inTurn<T>(call: () => Promise<T>): Promise<T> {
    const { id, signal } = this.#owner;
    if (this.#waiting.length >= MOST_WAITING)
      throw new Error(`Plugin LLM completion refused: ${MOST_WAITING} model calls of ${id} are waiting already.`);
    if (this.#running >= AT_ONCE) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#running++;
    try {
      if (signal.aborted) throw new Error(`the plugin ${id} is not loaded any more`);
      return await call();
    } finally {
      const next = this.#waiting.shift();
      // The turn passes on.
      if (next) next();
      else this.#running--;
    }
  }
}
