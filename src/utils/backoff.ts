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
