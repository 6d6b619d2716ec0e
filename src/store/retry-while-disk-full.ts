import type { Clock } from "../types/clock.ts";
import type { OpenClawError } from "../types/errors.ts";
import type { Log } from "../types/log.ts";
import { pause } from "../utils/pause.ts";
import { isDiskError } from "./disk.ts";

/** Milliseconds between two tries of a write while the disk is full. */
export const DISK_PROBE_INTERVAL_MS = 2000;

interface DiskRetryPorts {
  readonly clock: Clock;
  readonly log: Log;
  /** Ends the tries when aborted. */
  readonly signal?: AbortSignal;
  /** Called after each failed try. Must not throw. */
  onDiskError?(error: OpenClawError): void;
}

/**
 * Repeats a write until it succeeds; the write must be idempotent. `what` names it in the log.
 * Rejects with any other error, and with the disk's error once the signal has aborted.
 */
export async function retryWhileDiskFull<T>(what: string, write: () => Promise<T>, ports: DiskRetryPorts): Promise<T> {
  const { clock, log, signal = new AbortController().signal } = ports;
  for (let tries = 1; ; tries += 1) {
    try {
      return await write();
    } catch (error) {
      if (!isDiskError(error) || signal.aborted) throw error;
      if (tries === 1) log.error(`${what} waits for the disk`, { error });
      ports.onDiskError?.(error);
    }
    await pause(DISK_PROBE_INTERVAL_MS, { clock, signal });
  }
}
