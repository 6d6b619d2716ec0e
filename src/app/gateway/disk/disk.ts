import { statfs } from "node:fs/promises";
import { wait } from "../../../utils/pause.ts";
import type { Parts } from "../parts.ts";

const LOOK_EVERY_MS = 2000;
/** Bytes; below it the operator is warned. */
const LOW = 200 * 1024 * 1024;
/** Bytes; below it each check tries a write, even if no write has failed yet. */
const NEXT_TO_NOTHING = 1024 * 1024;

/** Reports a low or full disk, and its recovery: in the log, and in `channels.disk` for status and readiness. */
export async function watchDisk(parts: Pick<Parts, "live" | "log" | "channels">, signal: AbortSignal): Promise<void> {
  let wasLow = false;
  while (!signal.aborted) {
    const free = await freeBytes(parts.live.paths.stateDir);
    const isLow = free !== undefined && free < LOW;
    if (isLow !== wasLow)
      parts.log[isLow ? "error" : "info"](isLow ? "disk almost full" : "disk has free space again", {
        freeMiB: Math.round((free ?? 0) / 1048576),
      });
    wasLow = isLow;
    if (!parts.channels.disk.takesWrites || (free !== undefined && free < NEXT_TO_NOTHING))
      await parts.channels.disk.look();
    await wait(LOOK_EVERY_MS, signal);
  }
}

async function freeBytes(dir: string): Promise<number | undefined> {
  try {
    const { bavail, bsize } = await statfs(dir);
    return bavail * bsize;
  } catch {
    // Some file systems do not report free space; doctor says so.
    return undefined;
  }
}
