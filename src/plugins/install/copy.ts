import { constants } from "node:fs";
import { chmod, copyFile, mkdir, realpath, stat, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { isMissing } from "../../utils/missing.ts";
import { FOLDER_LIMITS } from "./paths.ts";
import { invalid } from "./refusals.ts";
import { readTree } from "./tree.ts";

/**
 * Copies a folder with its inner links, as `readTree` sees it. Throws the errors of `readTree`, and `PLUGIN_INVALID`
 * without a folder.
 */
export async function copyFolder(source: string, target: string): Promise<void> {
  const root = await realFolder(source);
  const entries = await readTree(root, FOLDER_LIMITS);
  await mkdir(target, { recursive: true, mode: 0o700 });
  for (const entry of entries) {
    const [from, to] = [join(root, entry.path), join(target, entry.path)];
    if (entry.kind === "folder") await mkdir(to, { mode: 0o700 });
    else if (entry.kind === "link") await symlink(entry.target, to);
    else {
      await copyFile(from, to, constants.COPYFILE_FICLONE);
      await chmod(to, entry.isProgram ? 0o700 : 0o600);
    }
  }
}

async function realFolder(source: string): Promise<string> {
  try {
    const path = await realpath(source);
    if ((await stat(path)).isDirectory()) return path;
    throw invalid(`${source} is neither a folder nor an archive.`, `Name the folder that it is in: ${dirname(source)}`);
  } catch (error) {
    if (!isMissing(error)) throw error;
    throw invalid(`There is no folder ${source}.`, "Check the path.", error);
  }
}
