import { isDiskError } from "../store/disk.ts";
import type { DispatchPorts } from "./ports.ts";

/** A full disk keeps what belongs together waiting; nothing overtakes. */
export const LOOK_FOR_ROOM_EVERY_MS = 2000;

/** Does it as soon as the disk has room for it; doing it twice must be as doing it once. Rejects with any other error. */
export async function whenRoom<T>(
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
      await new Promise<void>((resolve) => ports.clock.after(LOOK_FOR_ROOM_EVERY_MS, resolve));
    }
  }
}
