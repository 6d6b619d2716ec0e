import type { Clock } from "../types/clock.ts";

/** Resolves after the time, or when the gateway stops. */
export async function pause(ms: number, ports: { readonly clock: Clock; readonly signal: AbortSignal }): Promise<void> {
  if (ports.signal.aborted) return;
  await new Promise<void>((resolve) => {
    const end = () => {
      cancel();
      ports.signal.removeEventListener("abort", end);
      resolve();
    };
    const cancel = ports.clock.after(ms, end);
    ports.signal.addEventListener("abort", end, { once: true });
  });
}
