import { setTimeout as sleep } from "node:timers/promises";
import { readStateLock } from "../../../store/lock/lock.ts";

/** Milliseconds to wait for the daemon's end: a little more than the daemon's own grace. */
const PATIENCE_MS = 35_000;
const LOOK_EVERY_MS = 50;

/**
 * Ends the daemon that holds this state directory, and never another process: the start time in the lock is compared.
 * Resolves with the daemon's pid, undefined when none ran. A daemon that does not end in time is killed: its messages
 * are safe in the journal.
 */
export async function stopDaemon(stateDir: string): Promise<number | undefined> {
  const lock = await readStateLock(stateDir);
  if (!lock?.alive) return undefined;
  process.kill(lock.pid, "SIGTERM");
  for (let waited = 0; waited < PATIENCE_MS; waited += LOOK_EVERY_MS) {
    await sleep(LOOK_EVERY_MS);
    const now = await readStateLock(stateDir);
    if (!now?.alive || now.pid !== lock.pid) return lock.pid;
  }
  process.kill(lock.pid, "SIGKILL");
  return lock.pid;
}
