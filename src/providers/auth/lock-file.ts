import { OpenClawError } from "../../types/errors.ts";

/** Milliseconds. A renewal may take half a minute at a slow provider; its holder touches the lock meanwhile. */
const STALE_MS = 20_000;
const RETRIES = { retries: 90, minTimeout: 20, maxTimeout: 500 };

/** Takes `<path>.lock` against other processes and resolves with its release. Throws `OpenClawError` DISK_WRITE after some 40 s. */
export async function lockFile(path: string): Promise<() => Promise<void>> {
  const { lock } = await import("proper-lockfile");
  try {
    const release = await lock(path, {
      realpath: false,
      stale: STALE_MS,
      retries: RETRIES,
      // Without this a laptop that slept through the touch would end the process; the write itself is one rename.
      onCompromised: () => undefined,
    });
    // A lock that went stale under us belongs to another: then there is nothing to give back.
    return () => release().catch(() => undefined);
  } catch (error) {
    throw new OpenClawError("DISK_WRITE", {
      message: `${path}.lock cannot be taken: ${error instanceof Error ? error.message : String(error)}.`,
      fix: "Look whether another openclaw command hangs; a lock of a dead process goes away by itself.",
      cause: error,
    });
  }
}
