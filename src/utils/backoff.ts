const FIRST_MS = 500;
const LONGEST_MS = 30_000;

/** Milliseconds before the next try after `failures` earlier ones: doubled each time, with jitter in its upper half. */
export function backoff(
  failures: number,
  limits: { readonly firstMs?: number; readonly longestMs?: number } = {},
): number {
  const { firstMs = FIRST_MS, longestMs = LONGEST_MS } = limits;
  const full = Math.min(longestMs, firstMs * 2 ** Math.min(failures, 16));
  return Math.round(full * (0.5 + Math.random() / 2));
}

/** Resolves after `ms`, or at once when the signal aborts; never rejects. */
export async function wait(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener("abort", end, { once: true });
  });
}
