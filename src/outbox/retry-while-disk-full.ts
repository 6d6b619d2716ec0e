import { isDiskError } from "../store/disk.ts";
import type { OutboxJournal } from "../types/journal.ts";
import type { OutboxDeps } from "./ports.ts";

const LOOK_EVERY_MS = 2000;

/**
 * The outbox journal, retrying writes while the disk is full. Otherwise a sent message would not be recorded and would be
 * sent again. `mark` rejects with the disk's error once the signal has aborted.
 */
export function patientJournal(deps: OutboxDeps, signal: AbortSignal): OutboxJournal {
  const { journal, clock, log, onDiskError } = deps;
  return {
    ...journal,
    async mark(id, change) {
      for (let tries = 0; ; tries += 1) {
        try {
          return await journal.mark(id, change);
        } catch (error) {
          if (!isDiskError(error) || signal.aborted) throw error;
          if (tries === 0) log.error("reply waits for the disk", { row: id, error });
          onDiskError?.(error);
        }
        await new Promise<void>((resolve) => clock.after(LOOK_EVERY_MS, resolve));
      }
    },
  };
}
