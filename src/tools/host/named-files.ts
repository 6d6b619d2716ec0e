import { createHash } from "node:crypto";
import { createReadStream, type BigIntStats } from "node:fs";
import { readdir, realpath, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { delimiter, isAbsolute, join, resolve } from "node:path";
import type { BoundFile, CommandPlace } from "../../types/run/backend.ts";
import { namesIn } from "../exec/exec-names.ts";
import { readsByItself } from "../exec/exec-programs.ts";
import { isInside } from "../../utils/real-path.ts";

interface SearchedPlace extends CommandPlace {
  /** Directories where programs are searched for; those of the system need no binding. */
  readonly path: readonly string[];
}

/** Bytes of all files of a command that are hashed. */
const MOST_HASHED = 64 * 1024 * 1024;
/** Directories that a command may start from: names are looked for in each of them. */
const MOST_BASES = 16;

// What belongs to the system is nobody's file of a conversation.
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
 * The files that a command names, with their content: scripts, arguments, what `make`, `npm` and the like read by
 * themselves, and what wildcards stand for. In the directory of the command and in each one that it names. Sorted
 * by path. Names that the shell would put together out of variables or substitutions are not found. Undefined when the
 * command names more directories than are looked into.
 */
export async function bindFiles(command: string, place: SearchedPlace): Promise<readonly BoundFile[] | undefined> {
  const names = namesIn(command, { home: homedir(), cwd: place.cwd });
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
 * Where relative names may start: the command's directory, those that it names, those below them that it names, and those
 * of `PATH` that tools can write. Undefined when they are too many.
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
      // A link to a directory above would lead around without end.
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
  // A name that is none, or may not be looked at, names no file that could be read either.
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
    // There is no such file, or nobody here may read it.
    return undefined;
  }
}

/** What everybody may write is nobody's system, though it lies below it. */
const SHARED = ["/dev/shm", "/dev/mqueue"];

const isSystem = (path: string): boolean =>
  SYSTEM.some((root) => isInside(path, root)) && !SHARED.some((root) => isInside(path, root));

const isWild = (name: string): boolean => /[*?[]/.test(name);

/** Paths that one wildcard may stand for on its way; more are more than could be looked at. */
const MOST_MATCHES = 200;

/** What a path with wildcards in any of its parts stands for. Undefined when that is too much. */
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
  // What is no folder, or may not be looked at, holds no file that could be read either.
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
    // A shell takes a class without sense for plain text; such a name is looked for as it is.
    return undefined;
  }
}

async function bindAll(files: readonly Found[]): Promise<readonly BoundFile[]> {
  let left = MOST_HASHED;
  const bound: BoundFile[] = [];
  for (const { path, real, facts } of files) {
    const size = Number(facts.size);
    left -= size;
    bound.push({ path, size, content: left >= 0 ? await hashOf(real) : identityOf(facts) });
  }
  return bound;
}

async function hashOf(path: string): Promise<string> {
  const hash = createHash("sha256");
  try {
    for await (const chunk of createReadStream(path)) hash.update(chunk);
  } catch {
    // Unreadable is a state like another one: it may have changed by the time of the run.
    return "unreadable";
  }
  return `sha256:${hash.digest("hex")}`;
}

const identityOf = ({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string =>
  `stat:${[dev, ino, size, mtimeNs, ctimeNs].join(":")}`;

/** The directories of a `PATH`. */
export const pathDirs = (value: string | undefined): readonly string[] => (value ?? "").split(delimiter);
