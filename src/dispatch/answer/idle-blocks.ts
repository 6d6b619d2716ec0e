import type { Clock } from "../../types/clock.ts";

/** The part of an answer that waits for more text. */
export interface WaitingBlocks {
  /** The time at which the waiting text is due, in the clock's milliseconds; undefined when no text waits. */
  due(): number | undefined;
  /** Sends the waiting text when it is due. */
  sendDue(): Promise<void>;
}

/**
 * Sends waiting blocks when the model writes nothing for a while. Events and these sends never overlap: call `pause`
 * before an event is handled, and `resume` after it.
 */
export class IdleBlocks {
  readonly #clock: Clock;
  readonly #waiting: WaitingBlocks;
  #cancel: (() => void) | undefined;
  #sending: Promise<void> | undefined;

  constructor(clock: Clock, waiting: WaitingBlocks) {
    this.#clock = clock;
    this.#waiting = waiting;
  }

  /** Cancels the timer and waits for a send in progress. Rejects with that send's error. */
  async pause(): Promise<void> {
    this.#cancel?.();
    this.#cancel = undefined;
    const sending = this.#sending;
    this.#sending = undefined;
    await sending;
  }

  resume(): void {
    const due = this.#waiting.due();
    if (due === undefined) return;
    this.#cancel = this.#clock.after(Math.max(0, due - this.#clock.now()), () => {
      this.#sending = this.#waiting.sendDue();
      // `pause` reports the error; until then it must not count as unhandled.
      this.#sending.catch(() => {});
    });
  }
}
