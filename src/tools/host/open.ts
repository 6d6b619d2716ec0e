import { constants, createWriteStream } from "node:fs";
import { copyFile, lstat, mkdir, open, readlink, realpath, type FileHandle } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { errorCode } from "../../utils/missing.ts";
import { READ_NO_FOLLOW } from "../../utils/read-regular.ts";

const FOLDER_FLAGS = READ_NO_FOLLOW | (constants.O_DIRECTORY ?? 0);

const OWN_DESCRIPTORS = "/proc/self/fd";

/**
 * Error for an opened file that is not the one that was at the path: another program replaced it, by accident or on
 * purpose.
 */
export class ChangedMeanwhile extends Error {
  constructor(cause?: unknown) {
    super("It was changed while it was opened; try again.", { cause });
  }
}

/** Opens a path for reading. Never blocks, and never follows a link in the last part of the path. */
export const openAt = (path: string): Promise<FileHandle> => open(path, READ_NO_FOLLOW).catch(asChanged);

function asChanged(error: unknown): never {
  throw errorCode(error) === "ELOOP" ? new ChangedMeanwhile(error) : error;
}

/**
 * The path of an open file. On Linux the path comes from the descriptor. Elsewhere the path is read again and must
 * still lead to the same file, which leaves a short gap. Rejects when the file was moved or removed since.
 */
export async function whereIs(file: FileHandle, path: string | Buffer): Promise<string> {
  const linked = await readlink(`${OWN_DESCRIPTORS}/${file.fd}`).catch(() => undefined);
  if (linked !== undefined) {
    if (linked.endsWith(" (deleted)")) throw new ChangedMeanwhile();
    return linked;
  }
  const [real, there, opened] = await Promise.all([realpath(path), lstat(path), file.stat()]);
  if (there.ino !== opened.ino || there.dev !== opened.dev) throw new ChangedMeanwhile();
  return real;
}

/** Copies an open file, whatever its path holds by now, to a free path. */
export async function copyOpen(file: FileHandle, path: string): Promise<void> {
  const source = `${OWN_DESCRIPTORS}/${file.fd}`;
  if (process.platform === "linux") return copyFile(source, path, constants.COPYFILE_FICLONE | constants.COPYFILE_EXCL);
  const { mode } = await file.stat();
  await pipeline(
    file.createReadStream({ autoClose: false, start: 0 }),
    createWriteStream(path, { flags: "wx", mode: mode & 0o777 }),
  );
}

/**
 * A directory that stays the same even if another takes its place. Without Linux's /proc the directory is known only by
 * its path.
 */
export class OpenFolder {
  /** A path that always leads to this directory. */
  readonly base: string;
  /** The directory's path when it was opened, without links. */
  readonly path: string;
  readonly #handle: FileHandle | undefined;

  private constructor(place: { readonly base: string; readonly path: string }, handle: FileHandle | undefined) {
    this.base = place.base;
    this.path = place.path;
    this.#handle = handle;
  }

  static async open(path: string | Buffer): Promise<OpenFolder> {
    // Windows cannot open directories.
    if (process.platform === "win32") return new OpenFolder({ base: String(path), path: String(path) }, undefined);
    const handle = await open(path, FOLDER_FLAGS).catch(asChanged);
    try {
      const where = await whereIs(handle, path);
      const base = `${OWN_DESCRIPTORS}/${handle.fd}`;
      const hasDescriptors = await lstat(base).then(
        () => true,
        () => false,
      );
      return new OpenFolder({ base: hasDescriptors ? base : where, path: where }, handle);
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  /** The system's path of an entry of the directory. */
  at(name: string): string {
    return join(this.base, name);
  }

  /** Opens a directory in this one, and creates it if missing. */
  async folder(name: string): Promise<OpenFolder> {
    await mkdir(this.at(name)).catch((error: unknown) => {
      if (errorCode(error) !== "EEXIST") throw error;
    });
    return OpenFolder.open(this.at(name));
  }

  async close(): Promise<void> {
    await this.#handle?.close();
  }
}
