import { retryWhileDiskFull } from "../store/retry-while-disk-full.ts";
import type { OutboxJournal } from "../types/journal.ts";
import type { OutboxDeps } from "./ports.ts";

/**
 * The outbox journal, with `mark` retried while the disk is full: a sent message that is not recorded would be sent again.
 * `mark` rejects with the disk's error once the signal has aborted.
 */
export function patientJournal(deps: OutboxDeps, signal: AbortSignal): OutboxJournal {
  const { journal, clock, onDiskError } = deps;
  return {
    ...journal,
    mark(id, change) {
      const log = deps.log.with({ row: id });
      return retryWhileDiskFull("reply", () => journal.mark(id, change), {
        clock,
        log,
        signal,
        ...(onDiskError && { onDiskError }),
      });
    },
  };
}
