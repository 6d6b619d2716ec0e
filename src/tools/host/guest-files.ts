import { lstat, readdir, opendir } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import { unlessMissing } from "../../utils/missing.ts";
import { isInside, realOf } from "../../utils/real-path.ts";
import { isDraft } from "./drafts.ts";
import { fstat } from "node:fs";
import { promisify } from "node:util";

/** Device and inode, which identify a file under any name. */
export interface FileIdentity {
  readonly dev: number;
  readonly ino: number;
}

const isSame = (a: FileIdentity, b: FileIdentity): boolean => a.dev === b.dev && a.ino === b.ino;

/** Whether this file is at a path, or below it if the path is a directory. Does not follow links. */
export async function holdsFile(path: string, file: FileIdentity): Promise<boolean> {
  const found = await lstat(path).catch(() => undefined);
  if (found === undefined) return false;
  if (!found.isDirectory()) return isSame(found, file);
  // Nobody with our rights can have linked a file of a directory that we cannot list.
  const entries = await opendir(path).catch(() => undefined);
  if (entries === undefined) return false;
  for await (const entry of entries) {
    if (await holdsFile(join(path, entry.name), file)) return true;
  }
  return false;
}

/** Whether a file is this process's output, which contains the URL with the gateway's token. */
export async function isOwnOutput(file: FileIdentity): Promise<boolean> {
  for (const descriptor of [1, 2]) {
    const output = await promisify(fstat)(descriptor).catch(() => undefined);
    if (output !== undefined && isSame(output, file)) return true;
  }
  return false;
}

/** Reason why a guest's turn does not see an entry of a workspace. */
export type Hidden = "notes" | "repository" | "archive";

/** A path in one form, because some file systems ignore case and the composition of letters. */
export const plain = (path: string): string => path.normalize("NFKC").toLowerCase();

/** Directories with earlier versions of the files beside them. `.git` may also be a file that names another place. */
const REPOSITORIES = new Set([
  ".git",
  ".hg",
  ".svn",
  ".jj",
  ".bzr",
  ".pijul",
  ".sl",
  "_darcs",
  "cvs",
  "sccs",
  ".fslckout",
  "_fossil_",
]);

/** Words in the names of copies that editors, people and programs for synchronisation make. */
const COPY = String.raw`(?:bak|backup|old|orig|original|copy|kopie|conflict\w*|prev|previous|saved?|te?mp|sw[a-z]|rej|v\d+)`;
/** Words of `COPY`, and more words in the name of a copied text. */
const COPY_OF_TEXT = String.raw`(?:${COPY}|base|draft|local|merge\w*|ours|remote|sync|theirs)`;
const NOTE_FILES = [
  // With anything around the name: `.MEMORY.md.swp`, `#MEMORY.md#`, `%home%x%MEMORY.md`, `MEMORY.md.orig`.
  /(?:^|[^a-z0-9])memory\.(?:md|markdown)/,
  // With signs, digits or a word before the ending: `MEMORY (1).md`, `MEMORY~20260101-120000.md`, `MEMORY copy.md`.
  new RegExp(
    String.raw`(?:^|[^a-z0-9])memory(?:[^a-z]*|[^a-z](?:.*[^a-z])?${COPY_OF_TEXT}(?:[^a-z].*)?)\.(?:md|markdown)`,
  ),
  // A note of a day whose folder is written with other signs, as editors do: `!home!x!memory!2026-01-01.md~`.
  /(?:^|[^a-z])memory[^a-z0-9]+\d{4}-\d\d-\d\d/,
  // Any note of the folder, when the whole path is written with such signs.
  /[%!]memory[%!]/,
];
/** Names such as `MEMORY.bak`, and the folder of the notes with its copies: `memory~`, `memory-old`, `memory.2026`. */
const COPIED = new RegExp(String.raw`^[^a-z0-9]*memory[^a-z](?:.*[^a-z])?${COPY}(?:[^a-z]|$)`);
/** Names with the word of a copy first: `old-memory`, `Copy of memory`. */
const COPIED_FOLDER = new RegExp(String.raw`(?:^|[^a-z])${COPY}(?:[^a-z]|[^a-z](?:of|von|de)[^a-z])memory[^a-z]*$`);
const NOTE_FOLDER = /^[^a-z0-9]*memory[^a-z]*$/;
const NAMES_OF_NOTES = [...NOTE_FILES, COPIED, COPIED_FOLDER];
/** Endings of text names, also with additions of editors. */
const TEXT = /\.(?:md|markdown|txt)(?:[^a-z0-9]|$)/;
/**
 * Names of archives, also with a word of a copy or the number of a part: `x.zip~`, `x.tar.gz.bak`, `x.7z.001`,
 * `x.difftar.gz`.
 */
const ARCHIVE = new RegExp(
  String.raw`\.(?:(?:diff)?tar|cpio|pax|zip|7z|rar|tgz|tbz2?|tb2|taz|txz|tzst|tlz|cab|lzh|lha|arj|xar|shar|bundle|pack|iso|img|dmg|qcow2|vmdk|vdi|vhdx?|squashfs|sqsh|wim|fossil)` +
    String.raw`(?:$|~|[._ -](?:gz|bz2|xz|zst|lz4?|lzma|br|z|part\w*|\(?\d+|a[a-z]|${COPY})(?:[^a-z]|$))|\.(?:tar|cpio)\.[a-z0-9]+$`,
);

/**
 * Reason why guests do not see the entry at a path below a workspace, by its names alone: `steps` are the parts of the
 * path from the workspace on. Undefined when guests may see the entry. Pure.
 */
export function hiddenByName(steps: readonly string[]): Hidden | undefined {
  const names = steps.map(plain);
  // RCS keeps the versions of a file beside it.
  if (names.some((name) => REPOSITORIES.has(name) || name.endsWith(",v"))) return "repository";
  if (steps.some(isDraft)) return "notes";
  // A skill brings files of its own, which may be about memory, and archives.
  if (names[0] === "skills" && names.length > 2) return undefined;
  if (names.some((name) => name.includes("memory")) && isNote(names)) return "notes";
  return names.some((name) => ARCHIVE.test(name)) ? "archive" : undefined;
}

function isNote(names: readonly string[]): boolean {
  if (names.some((name) => NAMES_OF_NOTES.some((pattern) => pattern.test(name)))) return true;
  const folder = names.findIndex((name) => NOTE_FOLDER.test(name));
  if (folder === -1) return false;
  // Below the top, a folder of this name may be a program's; its texts are those of a copied or nested workspace.
  return folder === 0 || names.slice(folder + 1).some((name) => TEXT.test(name));
}

/**
 * Entries of a directory that holds earlier versions, whatever its own name: such a directory has, for each list of
 * names in a row, one of these names.
 */
const SIGNS: readonly (readonly (readonly string[])[])[] = [
  // Git's directory, the one of a working tree, and its objects alone.
  [["objects"], ["refs", "HEAD", "packed-refs", "reftable"]],
  [["HEAD"], ["commondir"]],
  [["pack"], ["info"]],
  // Mercurial; Subversion's directory and its server's; Bazaar; Darcs.
  [["store"], ["requires"]],
  [["wc.db"], ["pristine"]],
  [["db"], ["format"], ["locks"]],
  [["repository"], ["branch-format"]],
  [["hashed_inventory", "inventory"], ["patches"]],
];

/** Whether a directory with these entries holds a repository's earlier versions, whatever its own name. */
export const isRepository = (has: (name: string) => boolean): boolean =>
  SIGNS.some((row) => row.every((names) => names.some(has)));

/** The names that `isRepository` asks for. */
const MARKS = [...new Set(SIGNS.flat(2))];

/**
 * Reason why a guest's turn may not have the file or directory at `real`, a path without links, in any of these
 * workspaces; undefined when it may.
 */
export async function hiddenFromGuests(real: string, workspaces: readonly string[]): Promise<Hidden | undefined> {
  for (const workspace of workspaces) {
    const root = await realOf(workspace);
    if (!isInside(real, root) || real === root) continue;
    const steps = relative(root, real).split(sep);
    const hidden = hiddenByName(steps);
    if (hidden !== undefined) return hidden;
    if (await isInRepository(root, steps)) return "repository";
  }
  return undefined;
}

async function isInRepository(root: string, steps: readonly string[]): Promise<boolean> {
  for (let count = 0; count <= steps.length; count += 1) {
    const dir = join(root, ...steps.slice(0, count));
    const found = await Promise.all(MARKS.map((name) => unlessMissing(lstat(join(dir, name))).catch(() => undefined)));
    if (isRepository((name) => found[MARKS.indexOf(name)] !== undefined)) return true;
  }
  return false;
}

/** Most directories of a workspace in which second names are looked for. */
const MOST_SEARCHED = 20_000;

/**
 * Whether a file is, under a second name, closed to guests in these workspaces; also true for a workspace that is too
 * large to be searched. Called for files with several names only, because it searches the workspaces.
 */
export async function isHiddenElsewhere(file: FileIdentity, workspaces: readonly string[]): Promise<boolean> {
  const roots = await Promise.all(workspaces.map(realOf));
  const isHidden = async (path: string): Promise<boolean> =>
    roots.some(
      (root) => isInside(path, root) && path !== root && hiddenByName(relative(root, path).split(sep)) !== undefined,
    ) && holdsFile(path, file);
  const level = [...new Set(roots)];
  for (let at = 0; at < level.length; at += 1) {
    if (at === MOST_SEARCHED) return true;
    const dir = level[at] ?? "";
    // Nobody with our rights can have linked a file of a directory that we cannot list.
    const entries = await readdir(dir, { withFileTypes: true }).catch(() => []);
    const names = new Set(entries.map(({ name }) => name));
    if (isRepository((name) => names.has(name))) {
      if (await holdsFile(dir, file)) return true;
      continue;
    }
    for (const entry of entries) {
      const path = join(dir, entry.name);
      if (await isHidden(path)) return true;
      if (entry.isDirectory()) level.push(path);
    }
  }
  return false;
}

/** Returns the test of `hiddenByName` for many paths. */
export async function hiddenNamesIn(workspaces: readonly string[]): Promise<(real: string) => boolean> {
  const roots = await Promise.all(workspaces.map(realOf));
  return (real) =>
    roots.some(
      (root) => isInside(real, root) && real !== root && hiddenByName(relative(root, real).split(sep)) !== undefined,
    );
}

const WHY: Readonly<Record<Hidden, string>> = {
  notes: "may have notes of private chats",
  repository: "belongs to a repository, whose history may have notes of private chats",
  archive: "is an archive, which may have notes of private chats",
};

/** The reason for a model or a person, to follow the name of the file. */
export const whyFileHidden = (hidden: Hidden): string => `${WHY[hidden]}: only an owner's turn may read it`;
