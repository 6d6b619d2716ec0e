import { performance } from "node:perf_hooks";
import type { Clock } from "../../types/clock.ts";

/** Turns that are begun at once. More would not end earlier, since they share one thread, but all would wait for each other. */
const MOST = 8;
/** Turns that are begun in one iteration of the event loop. Each takes it for a millisecond or two, and others wait meanwhile. */
const MOST_PER_ITERATION = 4;
/** Milliseconds. A turn that waits for a download or a plugin needs no processor meanwhile. */
const LONGEST_MS = 40;

/** Turns that are open, from their begin to their end, before no further one begins on a busy event loop. */
const MOST_WHEN_BUSY = 12;
/** Milliseconds after which a turn begins on a busy event loop all the same, and between two looks whether one may. */
const PATIENCE_MS = 400;
const LOOK_MS = 5;

interface Waiting {
  /** Of `performance.now()`. */
  readonly since: number;
  begin(): void;
}

/** What a turn tells of itself. Telling it twice changes nothing. */
export interface Passage {
  /** It has asked its model, or waits for a slow disk, and needs no processor for now. */
  waits(): void;
  /** To be called after `waits`, except when it has asked its model. Resolves when it may go on. */
  resumes(): Promise<void>;
  ended(): void;
}

/**
 * Lets the turns of many chats begin one after another. When fifty messages come in one moment, the first is answered before the last
 * is begun, the event loop is not occupied by all of them at once, and the collector has to keep what a few turns use and not what
 * fifty use. Turns that wait for their models, however many they are, keep no other from beginning: then the event loop has time.
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

  /** Resolves when the turn may begin. It counts as one that waits after 40 ms in any case. */
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
    // The load is the processor's, so this goes by its time.
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

/** Milliseconds that are looked back over at least, and the share of them for which a busy loop waits for events at most. */
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
