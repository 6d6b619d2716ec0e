import { isDiskError } from "../../store/disk.ts";
import { DISK_PROBE_INTERVAL_MS } from "../../store/retry-while-disk-full.ts";
import type { Clock } from "../../types/clock.ts";

interface Ends {
  readonly clock: Clock;
  /** Called after each try that the full disk ended. */
  onDiskFull(error: unknown): Promise<void>;
  /** Called for any other failure; the work is not repeated. */
  onFailure(error: unknown): Promise<void>;
}

/** Repeats work while the disk is full. */
export async function whenPossible(work: () => Promise<void>, { clock, onDiskFull, onFailure }: Ends): Promise<void> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!isDiskError(error)) return onFailure(error);
      await onDiskFull(error);
      await new Promise<void>((resolve) => clock.after(DISK_PROBE_INTERVAL_MS, resolve));
    }
  }
}
