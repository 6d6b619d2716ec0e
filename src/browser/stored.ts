import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { isMissing } from "../utils/missing.ts";

/** Where a browser keeps what pages store, without their cookies. */
const STORES = ["Cache", "File System", "IndexedDB", "Service Worker", "WebStorage"];
const DEFAULT = "Default";

/** Bytes of what pages have stored in a profile. */
export async function storedIn(profile: string): Promise<number> {
  const sizes = await Promise.all(STORES.map((name) => sizeOf(join(profile, DEFAULT, name))));
  return sizes.reduce((sum, size) => sum + size, 0);
}

/** Removes the stored data of a profile. The browser must have ended. */
export async function forgetStored(profile: string): Promise<void> {
  for (const name of STORES) await rm(join(profile, DEFAULT, name), { recursive: true, force: true });
}

/** Files come and go meanwhile. */
async function sizeOf(folder: string): Promise<number> {
  try {
    let sum = 0;
    for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue;
      sum += await stat(join(entry.parentPath, entry.name)).then(
        ({ size }) => size,
        () => 0,
      );
    }
    return sum;
  } catch (error) {
    if (isMissing(error)) return 0;
    throw error;
  }
}
