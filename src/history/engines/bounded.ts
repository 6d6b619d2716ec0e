import type { Clock } from "../../types/clock.ts";

export type BoundedOutcome<T> =
  | { readonly kind: "ok"; readonly value: T }
  | { readonly kind: "threw"; readonly why: string }
  | { readonly kind: "late"; readonly why: string }
  | { readonly kind: "aborted" };

export interface TimeBound {
  readonly clock: Clock;
  readonly ms: number;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Waits for a plugin's code at most `ms`, and not after an abort. Never rejects; a late result is dropped. The call gets a
 * signal that aborts when the wait ends.
 */
export async function bounded<T>(
  call: (signal: AbortSignal) => T | Promise<T>,
  { clock, ms, signal }: TimeBound,
): Promise<BoundedOutcome<T>> {
  if (signal?.aborted === true) return { kind: "aborted" };
  const end = new AbortController();
  const early = Promise.withResolvers<BoundedOutcome<T>>();
  const stop = (outcome: BoundedOutcome<T>) => {
    early.resolve(outcome);
    end.abort();
  };
  const onAbort = () => stop({ kind: "aborted" });
  signal?.addEventListener("abort", onAbort, { once: true });
  const cancel = clock.after(ms, () => stop({ kind: "late", why: `no answer within ${ms} ms` }));
  try {
    return await Promise.race([early.promise, outcomeOf(call, end.signal)]);
  } finally {
    cancel();
    signal?.removeEventListener("abort", onAbort);
  }
}

async function outcomeOf<T>(
  call: (signal: AbortSignal) => T | Promise<T>,
  signal: AbortSignal,
): Promise<BoundedOutcome<T>> {
  try {
    return { kind: "ok", value: await call(signal) };
  } catch (error) {
    return { kind: "threw", why: thrownText(error) };
  }
}

/** The text of an error from a plugin's code, which may throw anything, also a value that cannot be printed. */
export function thrownText(error: unknown): string {
  if (error instanceof Error) return error.message;
  try {
    return String(error);
  } catch {
    return "something that cannot be printed";
  }
}
