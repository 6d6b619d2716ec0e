import { createHash } from "node:crypto";
import { createReadStream, type BigIntStats } from "node:fs";
import { readdir, realpath, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { delimiter, isAbsolute, join, resolve } from "node:path";
import type { BoundFile, CommandPlace } from "../../../types/run/backend.ts";
import { fileNamesIn } from "../../exec/exec-names.ts";
import { readsByItself } from "../../exec/programs/exec-programs.ts";
import { isInside } from "../../../utils/real-path.ts";

export interface SearchedPlace extends CommandPlace {
  /** Directories of `PATH`; those of the system are not bound. */
  readonly path: readonly string[];
}

/** Most bytes that are hashed for one command; further files are compared by size, times and inode. */
const MOST_HASHED = 64 * 1024 * 1024;
/** Most directories in which a command's names are searched for. */
const MOST_BASES = 16;

// Files of the system do not change with a conversation.
const SYSTEM = [
  "/usr",
  "/bin",
  "/sbin",
  "/lib",
  "/lib64",
  "/nix/store",
  "/System",
  "/Library",
  "/proc",
  "/sys",
  "/dev",
];

/**
 * The files that a command names, with their content: scripts, arguments, files that `make`, `npm` and the like read by
 * themselves, and matches of wildcards. Searches the command's directory and each directory that the command names.
 * Sorted by path. Does not find names that the shell would build from variables or substitutions. Undefined when the
 * command names too many directories.
 */
export async function bindFiles(command: string, place: SearchedPlace): Promise<readonly BoundFile[] | undefined> {
  const names = fileNamesIn(command, { home: homedir(), cwd: place.cwd });
  const own = names.flatMap(readsByItself);
  const bases = await directoriesIn(names, place);
  if (bases === undefined) return undefined;
  const wild = await Promise.all(bases.flatMap((base) => names.filter(isWild).map((name) => matching(name, base))));
  if (wild.includes(undefined)) return undefined;
  const paths = new Set([
    ...bases.flatMap((base) => [...names, ...own].map((name) => resolve(base, name))),
    ...wild.flatMap((found) => found ?? []),
  ]);
  const found = await Promise.all([...paths].map(regularFile));
  const files = found.filter((file) => file !== undefined).toSorted((a, b) => (a.path < b.path ? -1 : 1));
  return bindAll(unique(files));
}

interface Found {
  readonly path: string;
  readonly real: string;
  readonly facts: BigIntStats;
}

const unique = (files: readonly Found[]): readonly Found[] => [
  ...new Map(files.map((file) => [file.path, file])).values(),
];

/**
 * Directories in which relative names may start: the command's directory, the directories that it names, directly or
 * below one another, and those of `PATH` that tools can write. Undefined when there are too many.
 */
async function directoriesIn(
  names: readonly string[],
  { cwd, workspace, path }: SearchedPlace,
): Promise<readonly string[] | undefined> {
  const bases = new Set([cwd]);
  for (const dir of path) {
    if (dir !== "" && (!isAbsolute(dir) || isInside(dir, workspace))) bases.add(resolve(cwd, dir));
  }
  const seen = new Set<string>();
  for (let fresh = [...bases]; fresh.length > 0;) {
    const tried = new Set(fresh.flatMap((base) => names.map((name) => resolve(base, name))));
    fresh = [];
    for (const found of await Promise.all([...tried].filter((path) => !bases.has(path)).map(directory))) {
      // A link to a parent directory would never end.
      if (found === undefined || seen.has(found.real)) continue;
      seen.add(found.real);
      bases.add(found.path);
      fresh.push(found.path);
    }
    if (bases.size > MOST_BASES) return undefined;
  }
  return [...bases];
}

async function directory(path: string): Promise<{ readonly path: string; readonly real: string } | undefined> {
  // A directory that is missing or closed holds no file that could be read either.
  const facts = await stat(path).catch(() => undefined);
  if (facts?.isDirectory() !== true || isSystem(path)) return undefined;
  const real = await realpath(path).catch(() => undefined);
  return real === undefined ? undefined : { path, real };
}

async function regularFile(path: string): Promise<Found | undefined> {
  try {
    const real = await realpath(path);
    const facts = await stat(real, { bigint: true });
    return facts.isFile() && !isSystem(real) ? { path, real, facts } : undefined;
  } catch {
    // There is no such file, or this process may not read it.
    return undefined;
  }
}

/** Directories below the system's that everyone may write. */
const SHARED = ["/dev/shm", "/dev/mqueue"];

const isSystem = (path: string): boolean =>
  SYSTEM.some((root) => isInside(path, root)) && !SHARED.some((root) => isInside(path, root));

const isWild = (name: string): boolean => /[*?[]/.test(name);

/** Most paths that one wildcard may match at any of its parts. */
const MOST_MATCHES = 200;

/** The paths that match a path with wildcards. Undefined when there are too many. */
async function matching(name: string, base: string): Promise<readonly string[] | undefined> {
  let paths: readonly string[] = [isAbsolute(name) ? "/" : base];
  for (const part of name.split("/").filter((one) => one !== "")) {
    paths = (await Promise.all(paths.map((path) => entriesLike(part, path)))).flat();
    if (paths.length > MOST_MATCHES) return undefined;
  }
  return paths;
}

async function entriesLike(part: string, folder: string): Promise<readonly string[]> {
  if (!isWild(part)) return [resolve(folder, part)];
  const pattern = wildcard(part);
  // A folder that is missing or closed holds no file that could be read either.
  const entries = pattern ? await readdir(folder).catch(() => []) : [];
  return entries.filter((entry) => pattern?.test(entry) === true).map((entry) => join(folder, entry));
}

function wildcard(pattern: string): RegExp | undefined {
  const source = pattern.replaceAll(/\[!?[^\]]*\]|[*?]|[^\w]/g, (part) => {
    if (part === "*") return ".*";
    if (part === "?") return ".";
    if (part.length > 2 && part.startsWith("[")) return part.replace(/^\[!/, "[^").replaceAll("\\", String.raw`\\`);
    return `\\${part}`;
  });
  try {
    return new RegExp(`^${source}$`, "s");
  } catch {
    // A shell takes an invalid class as plain text.
    return undefined;
  }
}

async function bindAll(files: readonly Found[]): Promise<readonly BoundFile[]> {
  let left = MOST_HASHED;
  const bound: BoundFile[] = [];
  for (const { path, real, facts } of files) {
    const size = Number(facts.size);
    left -= size;
    bound.push({ path, size, content: left >= 0 ? await fileHash(real) : identityOf(facts) });
  }
  return bound;
}

/** The digest of a file, or `unreadable`. Never rejects. */
export async function fileHash(path: string): Promise<string> {
  const hash = createHash("sha256");
  try {
    for await (const chunk of createReadStream(path)) hash.update(chunk);
  } catch {
    // Being unreadable is a state that is compared, too.
    return "unreadable";
  }
  return `sha256:${hash.digest("hex")}`;
}

const identityOf = ({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string =>
  `stat:${[dev, ino, size, mtimeNs, ctimeNs].join(":")}`;

/** The directories of a `PATH`. */
export const pathDirs = (value: string | undefined): readonly string[] => (value ?? "").split(delimiter);
