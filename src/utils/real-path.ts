import { realpath } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, relative, sep } from "node:path";
import { errorCode, isMissing } from "./missing.ts";

/** True when `path` is `root` or lies in it; both absolute. */
export function isInside(path: string, root: string): boolean {
  const way = relative(root, path);
  return way === "" || (way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way));
}

/** The path without symbolic links; of what is not there yet, by the directory that it would lie in. */
export async function realOf(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    const parent = dirname(path);
    // `SKILL.md` of a skill that is a plain file is missing as well.
    if ((!isMissing(error) && errorCode(error) !== "ENOTDIR") || parent === path) throw error;
    return join(await realOf(parent), basename(path));
  }
}
