import { existsSync } from "node:fs";
import { passSlots } from "../../../../store/journal/restored.ts";
import { acquireStateLock } from "../../../../store/lock/lock.ts";
import { changeInstance, readInstance } from "../../../../store/lock/instance.ts";
import { journalPath, resolvePaths, type StatePaths } from "../../../config/paths.ts";
import type { Io } from "../../io.ts";

/**
 * `--adopt`: this gateway may start channels on a state directory that another program wrote last. The config stays as it is, because the
 * other program refuses keys that it does not know.
 */
export async function adopt(io: Io): Promise<number> {
  const paths = resolvePaths(io.env);
  const { stateDir } = paths;
  if ((await readInstance(stateDir))?.origin === "backup") await passSlotsOf(paths);
  await changeInstance(stateDir, { isAdopted: true, origin: undefined });
  io.out(`Adopted: ${stateDir}. The config is unchanged.\nChannels start with the next start of the gateway.\n`);
  return 0;
}

/** The original of a restored directory ran its jobs until now. Throws STATE_LOCKED while a gateway runs on the directory. */
async function passSlotsOf(paths: StatePaths): Promise<void> {
  const lock = await acquireStateLock(paths.stateDir);
  try {
    if (existsSync(journalPath(paths))) passSlots(journalPath(paths), Date.now());
  } finally {
    await lock.release();
  }
}
