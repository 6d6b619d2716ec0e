import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { errorCode, unlessMissing } from "../../utils/missing.ts";

/** Removes what killed processes left, which are named in it. */
export async function removeLeft(dir: string, prefix: string): Promise<void> {
  for (const name of (await unlessMissing(readdir(dir))) ?? []) {
    const pid = name.startsWith(prefix) ? /^(\d+)-/.exec(name.slice(prefix.length))?.[1] : undefined;
    if (pid !== undefined && !isAlive(Number(pid))) await rm(join(dir, name), { recursive: true, force: true });
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return errorCode(error) !== "ESRCH";
  }
}
