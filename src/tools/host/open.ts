import { constants } from "node:fs";
import { lstat, mkdir, open, readlink, realpath, type FileHandle } from "node:fs/promises";
import { join } from "node:path";
import { errorCode } from "../../utils/missing.ts";

// Neither is known everywhere. Opening a named pipe would else last until somebody writes to it.
const FLAGS = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
const FOLDER_FLAGS = FLAGS | (constants.O_DIRECTORY ?? 0);

const OWN_DESCRIPTORS = "/proc/self/fd";

/** What was opened is not what lay at the path: another program replaces it, or somebody plays tricks. */
export class ChangedMeanwhile extends Error {
  constructor(cause?: unknown) {
    super("It was changed while it was opened; try again.", { cause });
  }
}

/** Opens what is at a path for reading; never waits, and never follows a link in the last part of the path. */
export const openAt = (path: string): Promise<FileHandle> => open(path, FLAGS).catch(tellLink);

function tellLink(error: unknown): never {
  throw errorCode(error) === "ELOOP" ? new ChangedMeanwhile(error) : error;
}

/**
 * Where the file lies that a descriptor stands for. Linux tells it of the descriptor itself. Elsewhere the path is
 * looked at once more and must still lead to the same file, which leaves a moment in between. Rejects when it was
 * moved or removed since.
 */
export async function whereIs(file: FileHandle, path: string): Promise<string> {
  const told = await readlink(`${OWN_DESCRIPTORS}/${file.fd}`).catch(() => undefined);
  if (told !== undefined) {
    if (told.endsWith(" (deleted)")) throw new ChangedMeanwhile();
    return told;
  }
  const [real, there, opened] = await Promise.all([realpath(path), lstat(path), file.stat()]);
  if (there.ino !== opened.ino || there.dev !== opened.dev) throw new ChangedMeanwhile();
  return real;
}

/** A directory that stays the same one, whatever is put in its place afterwards; by path alone where Linux's /proc is missing. */
export class OpenFolder {
  /** A path for the system that leads to this very directory. */
  readonly base: string;
  /** Where it lay when it was opened; free of links. */
  readonly path: string;
  readonly #handle: FileHandle | undefined;

  private constructor(place: { readonly base: string; readonly path: string }, handle: FileHandle | undefined) {
    this.base = place.base;
    this.path = place.path;
    this.#handle = handle;
  }

  static async open(path: string): Promise<OpenFolder> {
    // Windows opens no directories.
    if (process.platform === "win32") return new OpenFolder({ base: path, path }, undefined);
    const handle = await open(path, FOLDER_FLAGS).catch(tellLink);
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

  /** The system's path of an entry. */
  at(name: string): string {
    return join(this.base, name);
  }

  /** A directory in it, made when it is missing. */
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
