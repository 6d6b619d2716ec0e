import { lstat, mkdir, rename, rmdir, unlink } from "node:fs/promises";
import { errorCode, unlessMissing } from "../../utils/missing.ts";
import { OpenFolder } from "../host/open.ts";
import { bytePathOf, bytesOf, entriesOf, makeUsable, pathIn, type BytePath } from "./byte-path.ts";

/** So often a program that still runs may add something to a directory that was just emptied. */
const MOST_REFUSED = 100;

/**
 * Removes a file, or a directory with all that is in it, whatever a program made there: directories too deep for a path, names that are
 * not UTF-8, directories without rights. Follows no link, also when a program that still runs puts one into the way. Does nothing when
 * there is nothing.
 */
export async function removeTree(path: string): Promise<void> {
  // The directories of all levels are moved side by side into one that only the gateway knows, so each has a short path.
  const removed = `${path}.removed`;
  await mkdir(removed, { recursive: true, mode: 0o700 });
  const work = new Removal(bytePathOf(removed));
  await work.take(bytePathOf(path));
  await work.finish();
}

class Removal {
  readonly #place: BytePath;
  #last = 0;
  #refused = 0;

  constructor(place: BytePath) {
    this.#place = place;
  }

  /** Moves a file or directory into the place. */
  async take(path: BytePath): Promise<void> {
    const to = bytesOf(await this.#free());
    const move = () => unlessMissing(rename(bytesOf(path), to));
    await move().catch(async (error: unknown) => {
      if (errorCode(error) !== "EACCES") throw error;
      // A directory is written when it gets another parent.
      await makeUsable(path);
      await move();
    });
  }

  /** Removes all in the place, also what an interrupted removal left, and the place. */
  async finish(): Promise<void> {
    for (;;) {
      const entries = await entriesOf(this.#place);
      if (entries.length === 0) break;
      for (const { name, isDirectory } of entries) {
        const path = pathIn(this.#place, name);
        if (isDirectory) await this.#removeDirectory(path);
        else await unlessMissing(unlink(bytesOf(path)));
      }
    }
    await rmdir(bytesOf(this.#place));
  }

  async #removeDirectory(path: BytePath): Promise<void> {
    await this.#empty(path);
    await rmdir(bytesOf(path)).catch((error: unknown) => {
      this.#refused += 1;
      if (errorCode(error) !== "ENOTEMPTY" || this.#refused > MOST_REFUSED) throw error;
    });
  }

  async #empty(path: BytePath): Promise<void> {
    await makeUsable(path);
    const folder = await OpenFolder.open(bytesOf(path));
    try {
      const base = bytePathOf(folder.base);
      for (const { name, isDirectory } of await entriesOf(base)) {
        if (isDirectory) await this.take(pathIn(base, name));
        else await unlessMissing(unlink(bytesOf(pathIn(base, name))));
      }
    } finally {
      await folder.close();
    }
  }

  async #free(): Promise<BytePath> {
    for (;;) {
      this.#last += 1;
      const path = pathIn(this.#place, String(this.#last));
      if ((await unlessMissing(lstat(bytesOf(path)))) === undefined) return path;
    }
  }
}
