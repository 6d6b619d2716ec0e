import { lstat } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import { unlessMissing } from "../../utils/missing.ts";
import { isInside, realOf } from "../../utils/real-path.ts";
import { isDraft } from "./drafts.ts";

/** Why a guest's turn does not see an entry of a workspace. */
export type Hidden = "notes" | "repository" | "archive";

/** Some file systems ignore case and how a letter is composed. */
export const plain = (path: string): string => path.normalize("NFKC").toLowerCase();

/** Directories with earlier versions of what lies beside them. `.git` may also be a file that names another place. */
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
  ".fslckout",
  "_fossil_",
]);

/** Words in the names of copies that editors, people and programs for synchronisation make. */
const COPY = String.raw`(?:bak|backup|old|orig|original|copy|conflict\w*|prev|previous|saved?|te?mp|sw[a-z]|rej)`;
/** More of them, in the name of a text. */
const COPY_OF_TEXT = String.raw`(?:${COPY}|base|draft|kopie|local|merge\w*|ours|remote|sync|theirs)`;
const NOTE_FILES = [
  // With anything around it: `.MEMORY.md.swp`, `#MEMORY.md#`, `%home%x%MEMORY.md`, `MEMORY.md.orig`.
  /(?:^|[^a-z0-9])memory\.(?:md|markdown)/,
  // With signs, digits or a word before the ending: `MEMORY (1).md`, `MEMORY~20260101-120000.md`, `MEMORY copy.md`.
  new RegExp(
    String.raw`(?:^|[^a-z0-9])memory(?:[^a-z]*|[^a-z](?:.*[^a-z])?${COPY_OF_TEXT}(?:[^a-z].*)?)\.(?:md|markdown)`,
  ),
  // A note of a day whose folder is written with other signs, as editors do: `!home!x!memory!2026-01-01.md~`.
  /(?:^|[^a-z])memory[^a-z0-9]+\d{4}-\d\d-\d\d/,
];
/** `MEMORY.bak`, and the folder of the notes with its copies: `memory~`, `memory-old`, `memory.2026`. */
const COPIED = new RegExp(String.raw`^[^a-z0-9]*memory[^a-z](?:.*[^a-z])?${COPY}(?:[^a-z]|$)`);
const NOTE_FOLDER = /^[^a-z0-9]*memory[^a-z]*$/;
/** Texts, also with what editors add to their names. */
const TEXT = /\.(?:md|markdown|txt)(?:[^a-z0-9]|$)/;
const ARCHIVE =
  /\.(?:tar|cpio)(?:\.[a-z0-9]+)?$|\.(?:zip|7z|rar|tgz|tbz2?|txz|tzst|tlz|bundle|pack|iso|img|dmg|squashfs|sqsh|wim|fossil)$/;

/**
 * Why guests do not see what lies at a path below a workspace, by its names alone: `steps` are the parts of the path from the workspace
 * on. Undefined when they may see it. Pure.
 */
export function hiddenByName(steps: readonly string[]): Hidden | undefined {
  const names = steps.map(plain);
  if (names.some((name) => REPOSITORIES.has(name))) return "repository";
  if (steps.some(isDraft)) return "notes";
  // A skill brings files of its own, which may be about memory, and archives.
  if (names[0] === "skills" && names.length > 2) return undefined;
  if (names.some((name) => name.includes("memory")) && isNote(names)) return "notes";
  return names.some((name) => ARCHIVE.test(name)) ? "archive" : undefined;
}

function isNote(names: readonly string[]): boolean {
  if (names.some((name) => NOTE_FILES.some((pattern) => pattern.test(name)) || COPIED.test(name))) return true;
  const folder = names.findIndex((name) => NOTE_FOLDER.test(name));
  if (folder === -1) return false;
  // Below the top, a folder of this name may be a program's; the texts in it are those of a copied or nested workspace.
  return folder === 0 || names.slice(folder + 1).some((name) => TEXT.test(name));
}

/** Whether a directory with these entries holds a repository's objects, whatever its own name is. */
export function isRepository(has: (name: string) => boolean): boolean {
  if (has("objects") && (has("refs") || has("HEAD") || has("packed-refs"))) return true;
  return (has("HEAD") && has("commondir")) || (has("pack") && has("info"));
}

/** The names that `isRepository` asks for. */
const MARKS = ["objects", "refs", "HEAD", "packed-refs", "commondir", "pack", "info"];

/** Why a guest's turn may not have the file or directory at `real`, a path without links, in any of these workspaces. */
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

/** Returns the same test by names, for many paths. */
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

/** The reason for a model or a person, after the name of the file. */
export const whyHidden = (hidden: Hidden): string => `${WHY[hidden]}: only an owner's turn may read it`;
