import { lstat, realpath } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, relative, sep } from "node:path";
import { errorCode, isMissing, unlessMissing } from "./missing.ts";

/** True when `path` is `root` or lies in it; both absolute. */
export function isInside(path: string, root: string): boolean {
  const way = relative(root, path);
  return way === "" || (way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way));
}

/** The path without symbolic links; for a missing file, by the directory that would contain it. */
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

/** The deepest directory of a path that exists, and the names below it that are missing. */
export async function existingAbove(path: string): Promise<readonly [directory: string, missing: readonly string[]]> {
  const found = await unlessMissing(lstat(path));
  const parent = dirname(path);
  if (found !== undefined || parent === path) return [path, []];
  const [directory, missing] = await existingAbove(parent);
  return [directory, [...missing, basename(path)]];
}
