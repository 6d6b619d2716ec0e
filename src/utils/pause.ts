interface Timer {
  after(ms: number, call: () => void): () => void;
}

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
