import { setTimeout as wait } from "node:timers/promises";
import { OpenClawError } from "../../types/errors.ts";
import { errorText } from "../../utils/text/error-text.ts";
import { errorCode } from "../../utils/missing.ts";

/** Milliseconds. The holder updates the lock more often, so only the lock of a dead process becomes this old. */
const STALE_MS = 20_000;
/** Milliseconds. A renewal may take half a minute at a slow provider. */
const PATIENCE_MS = 45_000;
const LONGEST_PAUSE_MS = 500;

/**
 * Locks `<path>.lock` against other processes. Resolves with a function that releases it. Throws `OpenClawError` DISK_WRITE
 * after `patienceMs`, 45 s when unset.
 */
export async function lockFile(path: string, patienceMs = PATIENCE_MS): Promise<() => Promise<void>> {
  const until = Date.now() + patienceMs;
  for (let pause = 20; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
    try {
      return await take(path);
    } catch (error) {
      if (errorCode(error) !== "ELOCKED" || Date.now() > until) throw refused(path, error);
    }
    await wait(pause);
  }
}

async function take(path: string): Promise<() => Promise<void>> {
  const { lock } = await import("proper-lockfile");
  const release = await lock(path, {
    realpath: false,
    stale: STALE_MS,
    // Without this function, a laptop that slept through an update would end the process. The write itself is a single
    // rename.
    onCompromised: () => undefined,
  });
  // A lock that became too old belongs to another process, so nothing is released.
  return () => release().catch(() => undefined);
}

const refused = (path: string, error: unknown): OpenClawError =>
  new OpenClawError("DISK_WRITE", {
    message: `${path}.lock cannot be taken: ${errorText(error)}.`,
    fix: "Check that its directory is writable and that no openclaw command hangs; a dead one's lock goes away by itself.",
    cause: error,
  });
