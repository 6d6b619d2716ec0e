import { randomUUID } from "node:crypto";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Download } from "playwright-core";
import { isMissing } from "../utils/missing.ts";

/** Bytes of simultaneous downloads. */
const MOST_BYTES = 100 * 1024 * 1024;
/** Milliseconds between two looks at how much it is: a page can send some gigabytes in a minute. */
const LOOK_MS = 250;

interface Folders {
  /** Folder for the browser's incomplete downloads. It has no other files. */
  readonly partial: string;
  /** Where complete files are kept. */
  readonly kept: string;
}

/** Downloads of the pages of one browser. */
export class Downloads {
  readonly #folders: Folders;
  readonly #running = new Set<Download>();
  #timer: NodeJS.Timeout | undefined;
  #wasTooLarge = new WeakSet<Download>();

  constructor(folders: Folders) {
    this.#folders = folders;
  }

  /** Keeps a file when it is complete; gives its path. Rejects with a text when it was too large, or failed. */
  async keep(download: Download): Promise<string> {
    const path = join(this.#folders.kept, `${randomUUID()}-${nameOf(download)}`);
    this.#running.add(download);
    this.#timer ??= setInterval(() => void this.#look(), LOOK_MS);
    try {
      await download.saveAs(path);
      return path;
    } catch (error) {
      if (this.#wasTooLarge.has(download))
        throw new Error(`a download was ended: more than ${MOST_BYTES / 1_048_576} MB came at once`, { cause: error });
      throw error;
    } finally {
      this.#running.delete(download);
      // The browser would keep a second copy until it ends. One that has ended has none.
      await download.delete().catch(() => undefined);
      if (this.#running.size === 0) this.#rest();
    }
  }

  #rest(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  async #look(): Promise<void> {
    if ((await sizeOf(this.#folders.partial)) <= MOST_BYTES) return;
    for (const download of this.#running) {
      this.#wasTooLarge.add(download);
      // The download may have ended meanwhile.
      download.cancel().catch(() => undefined);
    }
  }
}

const nameOf = (download: Download): string =>
  download
    .suggestedFilename()
    .replaceAll(/[^\p{L}\p{N}._-]+/gu, "_")
    .slice(-80);

/** Files come and go meanwhile. */
async function sizeOf(folder: string): Promise<number> {
  try {
    const sizes = (await readdir(folder)).map((name) =>
      stat(join(folder, name)).then(
        ({ size }) => size,
        () => 0,
      ),
    );
    return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
  } catch (error) {
    if (isMissing(error)) return 0;
    throw error;
  }
}
