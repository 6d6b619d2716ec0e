import { mkdir, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { isMissing } from "../utils/missing.ts";

/**
 * Makes a directory with mode 0700, and the directories above it that are missing. False when it exists. Node's own
 * `recursive` never returns where the system answers ENOENT although the directory above exists, as below `/proc`.
 */
export async function makeDirectory(path: string): Promise<boolean> {
  if (await isDirectory(path)) return false;
  if (await makeOne(path)) return true;
  const above = dirname(path);
  if (above !== path) await makeDirectory(above);
  // Another process may have made the directory meanwhile.
  if ((await makeOne(path)) || (await isDirectory(path))) return true;
  await mkdir(path, { mode: 0o700 });
  return true;
}

/** False when another process has made the directory meanwhile, or when a directory above it is missing. */
async function makeOne(path: string): Promise<boolean> {
  try {
    await mkdir(path, { mode: 0o700 });
    return true;
  } catch (error) {
    if (isMissing(error) || (await isDirectory(path))) return false;
    throw error;
  }
}

async function isDirectory(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}
