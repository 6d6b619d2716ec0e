import { isDiskError } from "../store/disk.ts";
import type { OutboxJournal } from "../types/journal.ts";
import type { OutboxDeps } from "./ports.ts";

const LOOK_EVERY_MS = 2000;

/**
 * The journal of replies on their way. A full disk is waited out: what the platform has taken cannot be taken back, and
 * sending without a note would send twice. `mark` rejects with the disk's error once the signal has aborted.
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
