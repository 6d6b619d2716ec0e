import { readdir } from "node:fs/promises";
import { basename, join, relative, sep } from "node:path";
import { CONTEXT_FILES, PRIVATE_FILE } from "../../types/engine/context-files.ts";
import { BoundedMap } from "../../utils/bounded-map.ts";
import { unlessMissing } from "../../utils/missing.ts";
import { isInside, realOf } from "../../utils/real-path.ts";
import { plain } from "./guest-files.ts";
import { GUARDED } from "./guarded.ts";

/**
 * Files that affect other people's turns: texts of the system prompt, and files that an owner's programs run by
 * themselves.
 */
export interface PromptFiles {
  /** Workspaces of all agents, absolute. */
  readonly workspaces: readonly string[];
  /** Further directories that are closed as a whole: skills, docs, received files. */
  readonly roots: readonly string[];
  /** True when files with the name of a context file are part of prompts in every folder. */
  readonly isEverywhere?: boolean;
}

/** Directories of a workspace that go into prompts, or whose code the gateway runs, with everything below them. */
const FOLDERS = ["memory", "skills", "hooks"] as const;
/** File with the instructions for an agent at the start of the gateway. */
const BOOT_FILE = "BOOT.md";
/** Directories whose content programs run by themselves, wherever the directories are. */
const HOOKS = new Set([".git", ".openclaw", ".husky", ".githooks"]);

/** Most workspaces whose paths are kept in memory: each turn of a guest asks for them. */
const MOST_WORKSPACES = 100;
const notes = new BoundedMap<string, readonly string[]>(MOST_WORKSPACES);

/** Paths of the notes in workspaces, which may have content of private chats. */
export const privateNotes = (workspaces: readonly string[]): readonly string[] =>
  workspaces.flatMap((one) => notes.of(one, () => [join(one, PRIVATE_FILE), join(one, "memory")]));

const holds = (root: string, path: string): boolean => isInside(plain(path), plain(root));

/** True when writing `real`, a path without symbolic links, would affect other people's turns. */
export async function shapesPrompts(real: string, { workspaces, roots, isEverywhere }: PromptFiles): Promise<boolean> {
  if (isEverywhere === true && CONTEXT_FILES.some((name) => plain(name) === plain(basename(real)))) return true;
  if (
    plain(real)
      .split(sep)
      .some((step) => HOOKS.has(step))
  )
    return true;
  const closed = await Promise.all(roots.map(realOf));
  if (closed.some((root) => holds(root, real))) return true;
  const found = await Promise.all(workspaces.map((workspace) => isIn(workspace, real)));
  return found.includes(true);
}

async function isIn(workspace: string, real: string): Promise<boolean> {
  const root = await realOf(workspace);
  const [first = ""] = plain(relative(plain(root), plain(real))).split(sep);
  const names = [...CONTEXT_FILES, BOOT_FILE, ...FOLDERS, ...GUARDED];
  if (holds(root, real) && names.some((name) => plain(name) === first)) return true;
  // Each of these names may be a link to another file.
  const linked = await Promise.all([...names.map((name) => join(root, name)), ...(await entriesOf(root))].map(realOf));
  return linked.some((target) => holds(target, real));
}

/** Paths of all skills, notes and hooks, since each may be a link as well. */
async function entriesOf(root: string): Promise<readonly string[]> {
  const lists = await Promise.all(
    FOLDERS.map(async (folder) => {
      const entries = await unlessMissing(readdir(join(root, folder)));
      return (entries ?? []).flatMap((entry) => [join(root, folder, entry), join(root, folder, entry, "SKILL.md")]);
    }),
  );
  return lists.flat();
}
