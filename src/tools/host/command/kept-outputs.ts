import { randomUUID } from "node:crypto";
import { mkdir, readdir, rm, rmdir, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { background } from "../../../utils/background.ts";
import { Secret } from "../../../utils/secrets/secret.ts";

/** Most characters of a kept result. */
const MOST_CHARS = 5_000_000;
/** Milliseconds after which a kept output is removed, and most bytes of all kept outputs. */
const KEPT_MS = 24 * 60 * 60 * 1000;
const MOST_BYTES = 500 * 1024 * 1024;
// Names of the gateway's own files: the directory may hold other logs.
const OUTPUT_NAME = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.log$/;

/** New path for an output in a directory. */
export const outputPath = (directory: string): string => join(directory, `${randomUUID()}.log`);

/**
 * Keeps a tool's result in a file that only this user may read, and returns the path. The secrets of this process are
 * masked. Rejects when the file cannot be written.
 */
export async function keepResult(text: string, directory: string): Promise<string> {
  const path = outputPath(directory);
  await mkdir(directory, { recursive: true, mode: 0o700 });
  await writeFile(path, Secret.mask(text.slice(0, MOST_CHARS)).toWellFormed(), { flag: "wx", mode: 0o600 });
  background("removal of old outputs", removeOld(directory));
  return path;
}

/**
 * Removes outputs that are older than a day, and the oldest ones while all outputs take too much of the disk: outputs
 * of the directory, and of the folders of other sessions beside it. Never rejects.
 */
export async function removeOld(directory: string): Promise<void> {
  const folders = await foldersWith(directory);
  const paths = await Promise.all(folders.map(async (one) => (await namesIn(one)).map((name) => join(one, name))));
  const found = await Promise.all(paths.flat().map(outputAt));
  const outputs = found.filter((one) => one !== undefined).toSorted((a, b) => b.changedAt - a.changedAt);
  let bytes = 0;
  for (const { path, size, changedAt } of outputs) {
    bytes += size;
    // Another call may have removed the file; otherwise the next long output tries again.
    if (bytes > MOST_BYTES || Date.now() - changedAt > KEPT_MS) await rm(path, { force: true }).catch(() => undefined);
  }
  for (const folder of folders) if (folder !== directory) await removeUnused(folder);
}

// Names that `outputFolder` gives.
const FOLDER_NAME = /^[0-9a-f]{24}$/;

/**
 * The directory; if it is a session's folder, also those of other sessions, and the one above, where earlier versions
 * kept outputs.
 */
async function foldersWith(directory: string): Promise<readonly string[]> {
  if (!FOLDER_NAME.test(basename(directory))) return [directory];
  const root = dirname(directory);
  // Without the directory there is nothing to remove.
  const names = await readdir(root).catch(() => []);
  const others = names.filter((name) => FOLDER_NAME.test(name)).map((name) => join(root, name));
  return [...new Set([directory, root, ...others])];
}

/** Removes a session's folder that is empty and has not changed for a day. */
async function removeUnused(folder: string): Promise<void> {
  if (!FOLDER_NAME.test(basename(folder))) return;
  // Another call may have removed the folder.
  const found = await stat(folder).catch(() => undefined);
  // A folder with files stays.
  if (found && Date.now() - found.mtimeMs > KEPT_MS) await rmdir(folder).catch(() => undefined);
}

/** Names of the outputs in a directory; none without the directory. */
const namesIn = async (directory: string): Promise<readonly string[]> =>
  (await readdir(directory).catch(() => [])).filter((name) => OUTPUT_NAME.test(name));

async function outputAt(path: string) {
  // The file may have been removed meanwhile.
  const found = await stat(path).catch(() => undefined);
  return found && { path, size: found.size, changedAt: found.mtimeMs };
}
