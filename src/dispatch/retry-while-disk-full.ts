import { isDiskError } from "../store/disk.ts";
import type { Clock } from "../types/clock.ts";
import type { Log } from "../types/log.ts";

/** A full disk keeps what belongs together waiting; nothing overtakes. */
export const LOOK_FOR_ROOM_EVERY_MS = 2000;

/** Does it as soon as the disk has room for it; doing it twice must be as doing it once. Rejects with any other error. */
export async function whenRoom<T>(work: () => Promise<T>, { clock, log }: { clock: Clock; log: Log }): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!isDiskError(error)) throw error;
      log.warn("waits for room on the disk", { error });
      await new Promise<void>((resolve) => clock.after(LOOK_FOR_ROOM_EVERY_MS, resolve));
    }
  }
}
