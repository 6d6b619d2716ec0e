import type { Clock } from "../types/clock.ts";

/** A run's time limit, which pauses while the run waits for a person. */
export class Deadline {
  readonly #clock: Clock;
  readonly #expire: () => void;
  #leftMs: number;
  #since = 0;
  #pauses = 0;
  #cancel: () => void = () => undefined;

  constructor(clock: Clock, ms: number, expire: () => void) {
    this.#clock = clock;
    this.#leftMs = ms;
    this.#expire = expire;
    this.#start();
  }

  #start(): void {
    this.#since = this.#clock.now();
    this.#cancel = this.#clock.after(this.#leftMs, this.#expire);
  }

  pause(): void {
    this.#pauses += 1;
    if (this.#pauses > 1) return;
    this.#cancel();
    this.#leftMs = Math.max(1, this.#leftMs - (this.#clock.now() - this.#since));
  }

  resume(): void {
    this.#pauses -= 1;
    if (this.#pauses === 0) this.#start();
  }

  /** Gives the whole time again, for another model. */
  restart(ms: number): void {
    this.#cancel();
    this.#leftMs = ms;
    if (this.#pauses === 0) this.#start();
  }

  stop(): void {
    this.#cancel();
    this.#pauses += 1;
  }
}
