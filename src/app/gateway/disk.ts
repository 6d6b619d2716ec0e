import { statfs } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import type { Parts } from "./parts.ts";

const LOOK_EVERY_MS = 60_000;
/** Bytes; below it the operator is told. */
const LOW = 200 * 1024 * 1024;

/** Says when the disk runs low, and when there is room again. */
export async function watchDisk({ live, log }: Pick<Parts, "live" | "log">, signal: AbortSignal): Promise<void> {
  let low = false;
  while (!signal.aborted) {
    const free = await freeBytes(live.paths.stateDir);
    const now = free !== undefined && free < LOW;
    if (now !== low)
      log[now ? "error" : "info"](now ? "disk almost full" : "disk has room again", {
        freeMiB: Math.round((free ?? 0) / 1048576),
      });
    low = now;
    // Only the abort ends a wait early, and the loop looks at it.
    await sleep(LOOK_EVERY_MS, undefined, { signal, ref: false }).catch(() => undefined);
  }
}

async function freeBytes(dir: string): Promise<number | undefined> {
  try {
    const { bavail, bsize } = await statfs(dir);
    return bavail * bsize;
  } catch {
    // Some file systems do not tell; doctor says so.
    return undefined;
  }
}
