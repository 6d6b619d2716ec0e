/** Time as a port, so that tests need not wait. */
export interface Clock {
  now(): number;
  /** Calls once after `ms`; the returned function forgets it. */
  after(ms: number, call: () => void): () => void;
}

/** A timer that is set for longer goes off at once: it is set anew until its time has come. */
const LONGEST_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  after(ms, call) {
    let timer: ReturnType<typeof setTimeout>;
    const set = (left: number): void => {
      const next = left > LONGEST_MS ? () => set(left - LONGEST_MS) : call;
      timer = setTimeout(next, Math.min(left, LONGEST_MS));
    };
    set(ms);
    return () => clearTimeout(timer);
  },
};
