import { constants } from "node:fs";
import { lstat, open, realpath } from "node:fs/promises";

/**
 * Flags to open a file for reading that never follow a link in the last part of the path, and never block: without O_NONBLOCK,
 * opening a named pipe waits until a program opens it for writing. Some systems lack these flags.
 */
export const READ_NO_FOLLOW = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/**
 * Reads the file at a path that was resolved (has no links) and checked. Reads only from the descriptor that it checks again,
 * so a link that replaces the file or one of its directories after the first check has no effect. Rejects with the reason when
 * the path does not lead to a regular file, or when that is larger than `mostBytes`.
 */
export async function readRegular(path: string | Buffer, mostBytes: number): Promise<Buffer> {
  const file = await open(path, READ_NO_FOLLOW).catch((cause: unknown) => {
    throw new Error("it cannot be opened", { cause });
  });
  try {
    const facts = await file.stat();
    if (!facts.isFile()) throw new Error("it is not a regular file");
    if (!(await liesAt(path, facts))) throw new Error("it was changed while it was read");
    if (facts.size > mostBytes) throw new Error(`it is larger than ${mostBytes / 1_048_576} MB`);
    return await readBytes(file, facts.size);
  } finally {
    await file.close();
  }
}

/** The first `size` bytes of an open file, or all if it has fewer. Reads no more when the file grows meanwhile. */
export async function readBytes(file: Readable, size: number): Promise<Buffer> {
  const bytes = Buffer.alloc(size);
  let at = 0;
  for (;;) {
    const { bytesRead } = await file.read(bytes, at, size - at, at);
    at += bytesRead;
    if (bytesRead === 0 || at === size) return bytes.subarray(0, at);
  }
}

/** The part of a `FileHandle` that `readBytes` calls. */
interface Readable {
  read(buffer: Uint8Array, offset: number, length: number, position: number): Promise<{ readonly bytesRead: number }>;
}

async function liesAt(path: string | Buffer, opened: { readonly ino: number; readonly dev: number }): Promise<boolean> {
  const [real, there] = await Promise.all([realpath(path, { encoding: "buffer" }), lstat(path)]);
  return real.equals(Buffer.from(path)) && there.ino === opened.ino && there.dev === opened.dev;
}
