import type { Clock } from "../../types/clock.ts";
import type { RunEvent } from "../../types/run/events.ts";

type TextDelta = RunEvent & { readonly type: "text_delta" };

const DELTA_EVERY_MS = 50;
/** Each delta carries the whole text, so without longer pauses the bytes would grow with its square. */
const CHARACTERS_PER_MS = 200;

/**
 * Limits the text deltas of a run to one every 50 ms, or one every (length / 200) ms for a text of more than 10,000
 * characters. The first passes at once; deltas in between are merged into the next. All other events pass at once and in
 * order.
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
