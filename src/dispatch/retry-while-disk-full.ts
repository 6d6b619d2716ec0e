import { isDiskError } from "../store/disk.ts";
import type { DispatchPorts } from "./ports.ts";

/** How often a full disk is probed; later work of the same session stays queued meanwhile. */
export const DISK_PROBE_INTERVAL_MS = 2000;

/**
 * Does the work, again and again while the disk is full. Doing it twice must be the same as doing it once. Rejects with
 * any other error.
 */
export async function retryWhileDiskFull<T>(
  work: () => Promise<T>,
  ports: Pick<DispatchPorts, "clock" | "log" | "onDiskError">,
): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!isDiskError(error)) throw error;
      ports.log.warn("waits for room on the disk", { error });
      ports.onDiskError?.(error);
      await new Promise<void>((resolve) => ports.clock.after(DISK_PROBE_INTERVAL_MS, resolve));
    }
  }
}
