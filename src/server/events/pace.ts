import type { Clock } from "../../types/clock.ts";
import type { RunEvent } from "../../types/run/events.ts";

type TextDelta = RunEvent & { readonly type: "text_delta" };

const DELTA_EVERY_MS = 50;
/** The protocol wants the whole text in each delta: without longer pauses the bytes would grow with the square of it. */
const CHARACTERS_PER_MS = 200;

/**
 * Lets at most one text delta of a run through each 50 ms, or for a text of more than 10,000 characters each millisecond
 * per 200 of them; the first one at once. What comes between becomes part of the next. Everything else passes at once and
 * in order.
 */
export class Pace {
  readonly #clock: Clock;
  readonly #show: (event: RunEvent) => void;
  #held: TextDelta | undefined;
  #cancel: (() => void) | undefined;

  constructor(clock: Clock, show: (event: RunEvent) => void) {
    this.#clock = clock;
    this.#show = show;
  }

  push(event: RunEvent): void {
    if (event.type === "text_delta") this.#pushDelta(event);
    else {
      this.#release();
      this.#show(event);
    }
  }

  #pushDelta(event: TextDelta): void {
    const held = this.#held;
    this.#held = held === undefined ? event : { ...event, delta: held.delta + event.delta };
    if (this.#cancel === undefined) this.#release();
  }

  #release(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    const held = this.#held;
    if (held === undefined) return;
    this.#held = undefined;
    this.#cancel = this.#clock.after(Math.max(DELTA_EVERY_MS, held.text.length / CHARACTERS_PER_MS), () => {
      this.#cancel = undefined;
      this.#release();
    });
    this.#show(held);
  }
}
