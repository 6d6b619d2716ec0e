import { access, constants, lstat, readlink, realpath, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { readRegular } from "../../../utils/read-regular.ts";

/** A repository, or what looks like one. */
export interface Repository {
  /** Where Git keeps what belongs to one working tree. */
  readonly gitDir: string;
  /** Where it keeps the settings and hooks. */
  readonly commonDir: string;
  /** The working tree; unset for a repository without one. */
  readonly tree?: string;
  /** A file that says where it lies is not understood. */
  readonly isOdd?: true;
}

const MOST_BYTES = 4096;

/** The text of a small file, behind links too; undefined when it cannot be read. Never rejects. */
export async function textAt(path: string, mostBytes = MOST_BYTES): Promise<string | undefined> {
  try {
    return (await readRegular(await realpath(path), mostBytes)).toString("utf8");
  } catch {
    // There is none, or it is no regular file.
    return undefined;
  }
}

/**
 * The repositories that Git may find from a directory: the nearest one, and what lies on the way to it and may be one. `dir` is
 * absolute and has no links.
 */
export async function repositoriesAbove(dir: string): Promise<readonly Repository[]> {
  const found: Repository[] = [];
  for (let at = dir; ; at = dirname(at)) {
    const here = (await repositoryOf(at)) ?? (await bareIn(at));
    if (here) found.push(here);
    if ((here && (await isCertain(here))) || dirname(at) === at) return found;
  }
}

/** The repository of a working tree; undefined where there is no `.git`. */
export async function repositoryOf(tree: string): Promise<Repository | undefined> {
  const path = join(tree, ".git");
  const facts = await stat(path).catch(() => undefined);
  if (!facts) return undefined;
  if (facts.isDirectory()) return { ...(await withCommon(path)), tree };
  const named = /^gitdir: (\S[^\r\n]*)[\r\n]*$/.exec((await textAt(path)) ?? "")?.[1];
  if (named === undefined) return { gitDir: path, commonDir: path, tree, isOdd: true };
  return { ...(await withCommon(resolve(tree, named))), tree };
}

async function bareIn(dir: string): Promise<Repository | undefined> {
  const hasHead = (await lstat(join(dir, "HEAD")).catch(() => undefined)) !== undefined;
  return hasHead ? withCommon(dir) : undefined;
}

async function withCommon(gitDir: string): Promise<Repository> {
  const path = join(gitDir, "commondir");
  if ((await lstat(path).catch(() => undefined)) === undefined) return { gitDir, commonDir: gitDir };
  const named = /^(\S[^\r\n]*)[\r\n]*$/.exec((await textAt(path)) ?? "")?.[1];
  if (named === undefined) return { gitDir, commonDir: gitDir, isOdd: true };
  return { gitDir, commonDir: resolve(gitDir, named) };
}

/** Whether Git takes it for a repository and looks no further. Rather too often no. */
async function isCertain({ gitDir, commonDir }: Repository): Promise<boolean> {
  const parts = [join(commonDir, "objects"), join(commonDir, "refs")];
  return (await hasHead(gitDir)) && (await Promise.all(parts.map(isSearchable))).every(Boolean);
}

async function hasHead(gitDir: string): Promise<boolean> {
  const path = join(gitDir, "HEAD");
  const target = await readlink(path).catch(() => undefined);
  if (target?.startsWith("refs/") === true) return true;
  return /^(?:ref:\s*refs\/|[0-9a-f]{40})/.test((await textAt(path, 255)) ?? "");
}

async function isSearchable(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isDirectory();
  } catch {
    // It is missing, or closed to this user.
    return false;
  }
}
