import { realpath } from "node:fs/promises";
import { homedir } from "node:os";
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { isMissing } from "../utils/missing.ts";

export interface AccessRules {
  /** Keeps paths inside the workspace, after symbolic links. */
  readonly workspaceOnly: boolean;
  /** Files and directories of the gateway's own that no tool may touch. */
  readonly denied: readonly string[];
  /** Directories outside the workspace that may be read all the same: received media, skills, docs. */
  readonly readable: readonly string[];
}

export type AccessMode = "read" | "write";

/** True when `path` is `root` or lies in it; both absolute. */
export function isInside(path: string, root: string): boolean {
  const way = relative(root, path);
  return way === "" || (way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way));
}

// What does not exist yet has no real path, but the directory that it would lie in has.
async function realOf(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    const parent = dirname(path);
    if (!isMissing(error) || parent === path) throw error;
    return join(await realOf(parent), basename(path));
  }
}

async function isInsideAny(path: string, roots: readonly string[]): Promise<boolean> {
  const real = await Promise.all(roots.map(realOf));
  return real.some((root) => isInside(path, root));
}

/** Where tools may go. */
export class FileAccess {
  readonly #rules: AccessRules;

  constructor(rules: AccessRules) {
    this.#rules = rules;
  }

  /**
   * The absolute path, free of symbolic links, that a model's path means; a relative one starts at the workspace.
   * Throws, in words for the model, when it may not go there.
   */
  async locate(path: string, workspace: string, mode: AccessMode): Promise<string> {
    if (path.includes("\0")) {
      throw new Error("A path cannot hold a NUL character.");
    }
    const real = await realOf(resolve(workspace, path.replace(/^~(?=$|[/\\])/, homedir())));
    if (await isInsideAny(real, this.#rules.denied)) {
      throw new Error(`${path} belongs to the gateway itself; tools may not touch it.`);
    }
    if (this.#rules.workspaceOnly) {
      const roots = mode === "read" ? [workspace, ...this.#rules.readable] : [workspace];
      if (!(await isInsideAny(real, roots))) {
        throw new Error(`${path} lies outside the workspace (${workspace}); file tools stay inside it.`);
      }
    }
    return real;
  }

  /** A test for many paths found under a located directory: false for those of the gateway's own. */
  async openPaths(): Promise<(path: string) => boolean> {
    const denied = await Promise.all(this.#rules.denied.map(realOf));
    return (path) => !denied.some((root) => isInside(path, root));
  }
}

/** A path as it is told to the model: relative inside the workspace, with slashes. */
export function shownPath(path: string, workspace: string): string {
  const shown = isInside(path, workspace) ? relative(workspace, path) || "." : path;
  return shown.replaceAll(sep, "/");
}
