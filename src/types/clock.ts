/** Time as a port, so that tests need not wait. */
export interface Clock {
  now(): number;
  /** Calls once after `ms`; the returned function forgets it. */
  after(ms: number, call: () => void): () => void;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  after(ms, call) {
    const timer = setTimeout(call, ms);
    return () => clearTimeout(timer);
  },
};
