import { performance } from "node:perf_hooks";
import type { Clock } from "../../types/clock.ts";

/**
 * The most turns that are begun at the same time. More turns would not end earlier, since they share one thread, but
 * all would wait for each other.
 */
const MOST = 8;
/**
 * The most turns that are begun in one iteration of the event loop. Each turn occupies the loop for a millisecond or
 * two, and others wait meanwhile.
 */
const MOST_PER_ITERATION = 4;
/**
 * Milliseconds after which a turn counts as one that waits: a turn that waits for a download or a plugin needs no
 * processor meanwhile.
 */
const LONGEST_MS = 40;

/** The most turns that are open, from their begin to their end, before no further one begins on a busy event loop. */
const MOST_WHEN_BUSY = 12;
/**
 * Milliseconds after which a turn begins on a busy event loop all the same, and between two looks whether a turn may
 * begin.
 */
const PATIENCE_MS = 400;
const LOOK_MS = 5;

interface Waiting {
  /** The time of `performance.now()` at which the wait began. */
  readonly since: number;
  begin(): void;
}

/** The calls by which a turn reports its state. A second report of the same state changes nothing. */
export interface Passage {
  /** Called when the turn has asked its model, or waits for a slow disk, and needs no processor for now. */
  waits(): void;
  /** Called after `waits`, except when the turn has asked its model. Resolves when the turn may go on. */
  resumes(): Promise<void>;
  ended(): void;
}

/**
 * Lets the turns of many chats begin one after another. When fifty messages come in one moment, the first is answered
 * before the last is begun, the event loop is not occupied by all of them at once, and the garbage collector has to
 * keep the memory of a few turns and not of fifty. Turns that wait for their models, however many they are, keep no
 * other turn from beginning: then the event loop has time.
 */
export class StartGate {
  readonly #clock: Pick<Clock, "after">;
  readonly #load: Load;
  readonly #waiting: Waiting[] = [];
  /** Turns that have waited. They come first. */
  readonly #resuming: Waiting[] = [];
  #begun = 0;
  #open = 0;
  #begunInIteration = 0;
  #isCounting = false;
  #isLooking = false;

  constructor(clock: Pick<Clock, "after">, load: Load = new LoopLoad()) {
    this.#clock = clock;
    this.#load = load;
  }

  /** Resolves when the turn may begin. The turn counts as one that waits after 40 ms in any case. */
  async enter(): Promise<Passage> {
    await this.#admitted(this.#waiting);
    let isBusy = true;
    let isOpen = true;
    const waits = () => {
      if (!isBusy) return;
      isBusy = false;
      cancel();
      this.#begun -= 1;
      this.#admit();
    };
    let cancel = this.#clock.after(LONGEST_MS, waits);
    let resuming: Promise<void> | undefined;
    const resume = async () => {
      await this.#admitted(this.#resuming);
      resuming = undefined;
      isBusy = true;
      cancel = this.#clock.after(LONGEST_MS, waits);
      if (!isOpen) waits();
    };
    const resumes = async () => {
      if (!isBusy && isOpen) await (resuming ??= resume());
    };
    const ended = () => {
      if (isOpen) this.#open -= 1;
      isOpen = false;
      waits();
      this.#admit();
    };
    return { waits, resumes, ended };
  }

  #admitted(line: Waiting[]): Promise<void> {
    return new Promise<void>((resolve) => {
      line.push({ since: performance.now(), begin: resolve });
      this.#admit();
    });
  }

  #admit(): void {
    while (this.#begun < MOST && this.#begunInIteration < MOST_PER_ITERATION) {
      const next = this.#resuming.shift() ?? this.#nextNew();
      if (!next) return;
      this.#begun += 1;
      this.#begunInIteration += 1;
      if (!this.#isCounting) setImmediate(() => this.#beginIteration());
      this.#isCounting = true;
      next.begin();
    }
  }

  #nextNew(): Waiting | undefined {
    const [next] = this.#waiting;
    if (!next) return undefined;
    if (!this.#hasTime(next)) {
      this.#lookLater();
      return undefined;
    }
    this.#open += 1;
    return this.#waiting.shift();
  }

  #hasTime({ since }: Waiting): boolean {
    return !this.#load.isBusy() || this.#open < MOST_WHEN_BUSY || performance.now() - since > PATIENCE_MS;
  }

  #lookLater(): void {
    if (this.#isLooking) return;
    this.#isLooking = true;
    // The load is measured in real time, so this timer runs in real time too.
    setTimeout(() => {
      this.#isLooking = false;
      this.#admit();
    }, LOOK_MS);
  }

  #beginIteration(): void {
    this.#isCounting = false;
    this.#begunInIteration = 0;
    this.#admit();
  }
}

/** Whether the event loop has more work than time. */
interface Load {
  isBusy(): boolean;
}

/**
 * The least time over which the load is measured, in milliseconds, and the largest share of it for which a busy loop
 * waits for events.
 */
const LOOK_BACK_MS = 20;
const IDLE_SHARE = 0.05;

/** The load of this thread's event loop, by the time for which it waited for events. */
class LoopLoad implements Load {
  #at = performance.now();
  #idleMs = performance.nodeTiming.idleTime;
  #isBusy = false;

  isBusy(): boolean {
    const now = performance.now();
    if (now - this.#at < LOOK_BACK_MS) return this.#isBusy;
    const idleMs = performance.nodeTiming.idleTime;
    this.#isBusy = (idleMs - this.#idleMs) / (now - this.#at) < IDLE_SHARE;
    this.#at = now;
    this.#idleMs = idleMs;
    return this.#isBusy;
  }
}
