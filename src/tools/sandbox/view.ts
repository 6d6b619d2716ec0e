import type { Stats } from "node:fs";
import { lstat, mkdir, readdir, realpath, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import type { Mount, View } from "../../types/sandbox-engine.ts";
import { errorCode, unlessMissing } from "../../utils/missing.ts";
import { readRegular } from "../../utils/read-regular.ts";
import { isInside, realOf } from "../../utils/real-path.ts";
import { GUARDED } from "../host/guarded.ts";
import type { GuestCopy } from "./guest-copy.ts";

/** Whether no running command can replace a path. */
export type IsSteady = (path: string) => boolean;

export interface ViewOptions {
  /** Directories that commands may write. Configuration of programs in them stays read-only. */
  readonly writable: readonly string[];
  /** Directories and files for reading; missing ones are left out. */
  readonly readable: readonly string[];
  /** The gateway's own files, which stay hidden wherever they lie. */
  readonly hidden: readonly string[];
  /** The copy that is shown in place of the workspace, which no other mount shows. */
  readonly copy?: GuestCopy | undefined;
  /** Folder of all sessions' long results, which is hidden except for the session's own. */
  readonly outputs?: { readonly root: string; readonly own: string };
  readonly home: string;
  /**
   * Test of paths: an unsteady path is not mounted where a command may write the directory above it. Every path is
   * steady when unset.
   */
  readonly isSteady?: IsSteady;
}

/**
 * Directories at the top of a writable directory that the gateway itself reads or writes: no command can write there,
 * because a link in their place would lead the gateway out of the workspace.
 */
export const OWN_FOLDERS = [".openclaw", "skills", "memory"];

/**
 * Looks up the existing files for a view. Rejects with a text for the model when a directory cannot be given to a
 * sandbox.
 */
export async function viewOf(options: ViewOptions): Promise<View> {
  const { writable, readable, hidden, copy, outputs, home, isSteady = () => true } = options;
  const open = await Promise.all(writable.map((path) => realDirectory(path, home)));
  const found = (await Promise.all(readable.map(existing))).filter((one) => one !== undefined);
  const seen = found.filter((one) => mayShow(one, open, isSteady)).map(({ real }) => real);
  for (const path of copy ? [...seen, copy.workspace] : seen) refuseHome(path, await realOf(home));
  const guarded = (await Promise.all(open.map((root) => guardedIn(root, isSteady)))).flat();
  const shown = [...open, ...seen];
  const closed = (await Promise.all(hidden.map((path) => cover(path, shown)))).filter((mount) => mount !== undefined);
  const seenCopy: readonly Mount[] = copy ? [{ path: copy.workspace, from: copy.tree, as: "ro" }] : [];
  const results = (await outputsIn(outputs)).filter(({ path }) =>
    [...shown, ...seenCopy.map((one) => one.path)].some((root) => isInside(path, root)),
  );
  const mounts: readonly Mount[] = [
    ...seen.map((path): Mount => ({ path, as: "ro" })),
    ...seenCopy,
    ...open.map((path): Mount => ({ path, as: "rw" })),
    ...guarded,
    ...results,
    ...closed.filter(({ path }) => isShown(path, shown, copy)),
  ];
  if (copy) for (const { path } of mounts.filter((one) => isInCopy(one.path, copy, shown))) await copy.place(path);
  const named = writable.map((at, index) => ({ at, to: open[index] ?? at }));
  return { mounts: parentsFirst(mounts), links: named.filter(({ at, to }) => at !== to) };
}

/**
 * Whether a path is in the copy of the workspace. A path below another shown directory is not; such a directory, for
 * example of a bind, is longer than the workspace's own path.
 */
const isInCopy = (path: string, { workspace }: GuestCopy, shown: readonly string[]): boolean =>
  path !== workspace &&
  isInside(path, workspace) &&
  !shown.some((root) => root !== path && root.length > workspace.length && isInside(path, root));

/** Whether a hidden path is shown and so needs a mask. The copy has no hidden files. */
const isShown = (path: string, shown: readonly string[], copy: GuestCopy | undefined): boolean =>
  shown.some((root) => isInside(path, root)) && !(copy && isInCopy(path, copy, shown));

/**
 * Mounts in the order of their length: a path in a directory is longer than the directory's. Of two mounts at one path
 * the later one counts.
 */
const parentsFirst = (mounts: readonly Mount[]): readonly Mount[] =>
  [...new Map(mounts.map((mount) => [mount.path, mount])).values()].toSorted((a, b) => a.path.length - b.path.length);

async function realDirectory(path: string, home: string): Promise<string> {
  const real = await realOf(path);
  refuseHome(real, await realOf(home));
  return real;
}

function refuseHome(path: string, home: string): void {
  if (!isInside(home, path)) return;
  throw new Error(
    `The command was not run: ${path} contains the home directory, which a sandbox must not have. ` +
      "The operator has to give the agent a workspace of its own (agents.defaults.workspace).",
  );
}

interface Existing {
  readonly named: string;
  /** Path without links. */
  readonly real: string;
}

const existing = async (named: string): Promise<Existing | undefined> =>
  (await unlessMissing(stat(named))) === undefined ? undefined : { named, real: await realOf(named) };

/**
 * Whether a path may be shown. A path in a writable directory is shown only if it still leads there: a command may have
 * replaced it by a link.
 */
function mayShow({ named, real }: Existing, open: readonly string[], isSteady: IsSteady): boolean {
  const root = open.find((one) => isInside(named, one) || isInside(real, one));
  return root === undefined || (isInside(real, root) && isSteady(real));
}

/**
 * The mount that hides a path. A file is hidden with its directory, unless the directory is shown for its own sake: a
 * mask over a file ends when a program renames another file to its name, and a file that does not exist yet can have
 * none.
 */
async function cover(path: string, shown: readonly string[]): Promise<Mount | undefined> {
  const real = await realOf(path);
  const found = await unlessMissing(stat(real));
  if (found?.isDirectory() === true) return { path: real, as: "empty" };
  const above = dirname(real);
  const isBelow = shown.some((root) => isInside(above, root)) && !shown.includes(above);
  if (isBelow && (await unlessMissing(stat(above)))?.isDirectory() === true) return { path: above, as: "frame" };
  return found && { path: real, as: "blank" };
}

/**
 * Mounts for long results. The folder of all sessions is made if it is missing, so that a folder that another session
 * makes meanwhile is hidden too.
 */
async function outputsIn(outputs: ViewOptions["outputs"]): Promise<readonly Mount[]> {
  if (!outputs) return [];
  const { root, own } = outputs;
  if ((await unlessMissing(stat(dirname(root)))) === undefined) return [];
  await makeFolder(root);
  const folder = await existing(own);
  const all: Mount = { path: await realOf(root), as: "frame" };
  return folder === undefined ? [all] : [all, { path: folder.real, as: "ro" }];
}

async function guardedIn(root: string, isSteady: IsSteady): Promise<readonly Mount[]> {
  for (const name of OWN_FOLDERS) await makeFolder(join(root, name));
  const place = { root, isSteady };
  const there = new Set(await readdir(root));
  const names = [...OWN_FOLDERS, ...GUARDED].filter((name) => there.has(name));
  const found = await Promise.all(names.map((name) => guard(join(root, name), place)));
  return [...found.filter((mount) => mount !== undefined), ...(await gitIn(place))];
}

async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(path, { mode: 0o700 });
  } catch (error) {
    if (errorCode(error) !== "EEXIST") throw error;
  }
  if (OWN_FOLDERS.includes(basename(path)) && (await lstat(path)).isSymbolicLink())
    throw new Error(
      `The command was not run: ${path} is a link, which a sandboxed command could make lead elsewhere. ` +
        "The operator has to put a directory in its place; skills.load.extraDirs names further directories of skills.",
    );
}

interface GuardPlace {
  readonly root: string;
  readonly isSteady: IsSteady;
}

/** The mount that guards a path. Nothing can be mounted over a link, so its target is guarded instead. */
async function guard(path: string, { root, isSteady }: GuardPlace): Promise<Mount | undefined> {
  const found = await unlessMissing(lstat(path));
  if (found === undefined) return undefined;
  if (!found.isSymbolicLink()) return isSteady(path) ? { path, as: "ro" } : undefined;
  const target = await realpath(path).catch(() => undefined);
  const isKept = target !== undefined && target !== root && isInside(target, root) && isSteady(target);
  return isKept ? { path: target, as: "ro" } : undefined;
}

/**
 * Mounts of Git's hooks and settings. Their directory is a mount of its own, so that it cannot be moved away with them.
 */
async function gitIn(place: GuardPlace): Promise<readonly Mount[]> {
  const git = join(place.root, ".git");
  const found: Stats | undefined = await unlessMissing(lstat(git));
  if (found === undefined || !place.isSteady(git)) return [];
  if (!found.isDirectory()) return found.isFile() ? [{ path: git, as: "ro" }] : [];
  await makeFolder(join(git, "hooks"));
  const paths = ["hooks", "config", "config.worktree"].map((name) => join(git, name));
  const inside = await Promise.all([...paths, ...(await hooksElsewhere(place))].map((path) => guard(path, place)));
  return [{ path: git, as: "rw" }, ...inside.filter((mount) => mount !== undefined)];
}

const MOST_CONFIG_BYTES = 100_000;

/** Directories of hooks in the repository's settings. */
async function hooksElsewhere({ root }: GuardPlace): Promise<readonly string[]> {
  const bytes = await readRegular(join(root, ".git", "config"), MOST_CONFIG_BYTES).catch(() => undefined);
  const named = [...(bytes?.toString("utf8") ?? "").matchAll(/^\s*hookspath\s*=\s*"?([^"\r\n]+?)"?\s*$/gim)];
  return named.map(([, path = ""]) => resolve(root, path)).filter((path) => path !== root && isInside(path, root));
}
