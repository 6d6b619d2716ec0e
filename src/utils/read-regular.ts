import { constants } from "node:fs";
import { lstat, open, realpath } from "node:fs/promises";

// Not every system has these flags. Without O_NONBLOCK, opening a named pipe would block until a writer opens it.
const FLAGS = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/**
 * The bytes of the file at a path that was found free of links, and checked. What is looked at and read is one and the
 * same file: whoever puts a link into its place, or into the way there, after the check gains nothing. Rejects, saying
 * why, when it is no such file or larger than `mostBytes`.
 */
export async function readRegular(path: string, mostBytes: number): Promise<Buffer> {
  const file = await open(path, FLAGS).catch((cause: unknown) => {
    throw new Error("it cannot be opened", { cause });
  });
  try {
    const facts = await file.stat();
    if (!facts.isFile()) throw new Error("it is no file");
    if (!(await liesAt(path, facts))) throw new Error("it was changed while it was read");
    if (facts.size > mostBytes) throw new Error(`it is larger than ${mostBytes / 1_048_576} MB`);
    return await readBytes(file, facts.size);
  } finally {
    await file.close();
  }
}

/** The first `size` bytes of an open file, or all where it has fewer; no more, however it grows meanwhile. */
export async function readBytes(file: Readable, size: number): Promise<Buffer> {
  const bytes = Buffer.alloc(size);
  let at = 0;
  for (;;) {
    const { bytesRead } = await file.read(bytes, at, size - at, at);
    at += bytesRead;
    if (bytesRead === 0 || at === size) return bytes.subarray(0, at);
  }
}

/** What an open file has that is read from. */
interface Readable {
  read(buffer: Uint8Array, offset: number, length: number, position: number): Promise<{ readonly bytesRead: number }>;
}

async function liesAt(path: string, opened: { readonly ino: number; readonly dev: number }): Promise<boolean> {
  const [real, there] = await Promise.all([realpath(path), lstat(path)]);
  return real === path && there.ino === opened.ino && there.dev === opened.dev;
}
