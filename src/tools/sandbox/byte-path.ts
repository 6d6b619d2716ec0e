import { constants } from "node:fs";
import { chmod, open, readdir, stat } from "node:fs/promises";

/** An absolute path with one character for each of its bytes: a name that is not UTF-8 keeps its bytes. */
export type BytePath = string;

export const bytePathOf = (path: string): BytePath => Buffer.from(path).toString("latin1");

/** The path of an entry, whose name has one character for each byte too. */
export const pathIn = (dir: BytePath, name: string): BytePath => `${dir}/${name}`;

/** The bytes of a path, for the system. */
export const bytesOf = (path: BytePath): Buffer => Buffer.from(path, "latin1");

/** The path for people. */
export const pathText = (path: string): string => Buffer.from(path, "latin1").toString("utf8");

export interface DirectoryEntry {
  /** The entry's name, with one character for each byte. */
  readonly name: string;
  readonly isDirectory: boolean;
}

/** The entries of a directory. */
export async function entriesOf(dir: BytePath): Promise<readonly DirectoryEntry[]> {
  const entries = await readdir(bytesOf(dir), { withFileTypes: true, encoding: "buffer" });
  return entries.map((entry) => ({ name: entry.name.toString("latin1"), isDirectory: entry.isDirectory() }));
}

/** Flag with which Linux opens a directory that may not be read. Node has no name for it. */
const O_PATH = 0o10000000;

/** Lets the gateway read and write one of its own directories. Follows no link where the system can avoid it. */
export async function makeUsable(dir: BytePath): Promise<void> {
  const add = async (path: Buffer | string): Promise<void> => chmod(path, (await stat(path)).mode | 0o700);
  if (process.platform !== "linux") return add(bytesOf(dir));
  const handle = await open(bytesOf(dir), O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  try {
    await add(`/proc/self/fd/${handle.fd}`);
  } finally {
    await handle.close();
  }
}
