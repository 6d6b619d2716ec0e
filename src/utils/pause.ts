interface Timer {
  /** Calls once after `ms`; the returned function cancels it. */
  after(ms: number, call: () => void): () => void;
}

const systemTimer: Timer = {
  after(ms, call) {
    const timer = setTimeout(call, ms);
    return () => clearTimeout(timer);
  },
};

/** Resolves after `ms`, or as soon as the signal aborts; at once when it has aborted already. Never rejects. */
export async function pause(
  ms: number,
  { clock, signal }: { readonly clock: Timer; readonly signal: AbortSignal },
): Promise<void> {
  if (ms <= 0 || signal.aborted) return;
  await new Promise<void>((resolve) => {
    const end = (): void => {
      cancel();
      signal.removeEventListener("abort", end);
      resolve();
    };
    const cancel = clock.after(ms, end);
    signal.addEventListener("abort", end, { once: true });
  });
}

/** `pause` by the system's clock, for adapters: `ms` must be less than 25 days. */
export const wait = (ms: number, signal: AbortSignal): Promise<void> => pause(ms, { clock: systemTimer, signal });
