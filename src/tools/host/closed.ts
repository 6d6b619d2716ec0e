import { fstat } from "node:fs";
import { lstat, opendir } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

/** What makes two names one file. */
export interface FileIdentity {
  readonly dev: number;
  readonly ino: number;
}

const isSame = (a: FileIdentity, b: FileIdentity): boolean => a.dev === b.dev && a.ino === b.ino;

/** Whether a file at a path, or below it where it is a directory, is this one. Links are not followed. */
export async function holdsFile(path: string, file: FileIdentity): Promise<boolean> {
  const found = await lstat(path).catch(() => undefined);
  if (found === undefined) return false;
  if (!found.isDirectory()) return isSame(found, file);
  // A directory that cannot be listed by us holds nothing that somebody could have linked with our rights.
  const entries = await opendir(path).catch(() => undefined);
  if (entries === undefined) return false;
  for await (const entry of entries) {
    if (await holdsFile(join(path, entry.name), file)) return true;
  }
  return false;
}

/** Whether it is the file that this process prints to: its output holds the address with the gateway's token. */
export async function isOwnOutput(file: FileIdentity): Promise<boolean> {
  for (const descriptor of [1, 2]) {
    const output = await promisify(fstat)(descriptor).catch(() => undefined);
    if (output !== undefined && isSame(output, file)) return true;
  }
  return false;
}
