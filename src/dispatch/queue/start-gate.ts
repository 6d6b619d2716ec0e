import type { Clock } from "../../types/clock.ts";

/** Turns that are begun at once. More would not end earlier, since they share one thread, but all would wait for each other. */
const MOST = 8;
/** Turns that are begun in one iteration of the event loop. Each takes it for a millisecond or two, and others wait meanwhile. */
const MOST_PER_ITERATION = 4;
/** Milliseconds. A turn that waits for a slow disk, a download or a plugin needs no processor meanwhile. */
const LONGEST_MS = 40;

/**
 * Lets the turns of many chats begin one after another, up to their first model call. When fifty messages come in one moment,
 * the first is answered before the last is begun, the event loop is not occupied by all of them at once, and the collector has
 * to keep what eight turns use and not what fifty use.
 */
export class StartGate {
  readonly #clock: Pick<Clock, "after">;
  readonly #waiting: (() => void)[] = [];
  #begun = 0;
  #begunInIteration = 0;
  #isCounting = false;

  constructor(clock: Pick<Clock, "after">) {
    this.#clock = clock;
  }

  /** Resolves when the turn may begin, with what it calls when it has asked its model. It is called after 40 ms in any case. */
  async enter(): Promise<() => void> {
    await new Promise<void>((resolve) => {
      this.#waiting.push(resolve);
      this.#admit();
    });
    let isInside = true;
    const leave = () => {
      if (!isInside) return;
      isInside = false;
      cancel();
      this.#begun -= 1;
      this.#admit();
    };
    const cancel = this.#clock.after(LONGEST_MS, leave);
    return leave;
  }

  #admit(): void {
    while (this.#begun < MOST && this.#begunInIteration < MOST_PER_ITERATION) {
      const next = this.#waiting.shift();
      if (!next) return;
      this.#begun += 1;
      this.#begunInIteration += 1;
      if (!this.#isCounting) setImmediate(() => this.#beginIteration());
      this.#isCounting = true;
      next();
    }
  }

  #beginIteration(): void {
    this.#isCounting = false;
    this.#begunInIteration = 0;
    this.#admit();
  }
}
