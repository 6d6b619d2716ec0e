import { fstat } from "node:fs";
import { lstat, opendir } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

/** Device and inode, which identify a file under any name. */
export interface FileIdentity {
  readonly dev: number;
  readonly ino: number;
}

const isSame = (a: FileIdentity, b: FileIdentity): boolean => a.dev === b.dev && a.ino === b.ino;

/** Whether this file is at a path, or below it if the path is a directory. Does not follow links. */
export async function holdsFile(path: string, file: FileIdentity): Promise<boolean> {
  const found = await lstat(path).catch(() => undefined);
  if (found === undefined) return false;
  if (!found.isDirectory()) return isSame(found, file);
  // Nobody with our rights can have linked a file of a directory that we cannot list.
  const entries = await opendir(path).catch(() => undefined);
  if (entries === undefined) return false;
  for await (const entry of entries) {
    if (await holdsFile(join(path, entry.name), file)) return true;
  }
  return false;
}

/** Whether a file is this process's output, which contains the URL with the gateway's token. */
export async function isOwnOutput(file: FileIdentity): Promise<boolean> {
  for (const descriptor of [1, 2]) {
    const output = await promisify(fstat)(descriptor).catch(() => undefined);
    if (output !== undefined && isSame(output, file)) return true;
  }
  return false;
}
