import type { Stats } from "node:fs";
import { lstat, stat, type FileHandle } from "node:fs/promises";
import { homedir } from "node:os";
import { basename, dirname, join, relative, resolve } from "node:path";
import type { AccessMode } from "../../types/run/backend.ts";
import { unlessMissing } from "../../utils/missing.ts";
import { holdsFile, isOwnOutput, type FileIdentity } from "./closed.ts";
import { ChangedMeanwhile, openAt, OpenFolder, whereIs } from "./open.ts";
import { shapesPrompts, type PromptFiles } from "./prompt-files.ts";
import { isInside, realOf } from "../../utils/real-path.ts";

export interface AccessRules {
  /** Keeps paths inside the workspace, after symbolic links. */
  readonly workspaceOnly: boolean;
  /** Files and directories of the gateway's own that no tool may touch. */
  readonly denied: readonly string[];
  /** Directories outside the workspace that may be read all the same: received media, skills, docs. */
  readonly readable: readonly string[];
  /** Set when the turn acts for nobody with an owner's rights. */
  readonly guest?: GuestRules;
}

/** What is closed to everybody but owners. */
export interface GuestRules {
  readonly prompts: PromptFiles;
  /** Received files: only those of the own conversation, by their names. */
  readonly received: { readonly dir: string; own(): Promise<ReadonlySet<string>> };
}

async function isInsideAny(path: string, roots: readonly string[]): Promise<boolean> {
  const real = await Promise.all(roots.map(realOf));
  return real.some((root) => isInside(path, root));
}

/**
 * Not files but doors into the kernel and other processes: environments, open descriptors, devices that never end.
 * Windows has none of them.
 */
const SYSTEM: readonly string[] = process.platform === "win32" ? [] : ["/proc", "/sys", "/dev"];

/** How often a file is opened that changes meanwhile. */
const MOST_TRIES = 3;

/** What a model asked for, and what for. */
interface Wish {
  readonly path: string;
  readonly workspace: string;
  readonly mode: AccessMode;
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
    const named = resolve(workspace, path.replace(/^~(?=$|[/\\])/, homedir()));
    // Its links lead out of there again: to what another process has open.
    refuseSystem(named, path);
    const real = await realOf(named);
    await this.#judge(real, { path, workspace, mode });
    return real;
  }

  /**
   * Opens a regular file for reading. What is judged is the opened file, so that whoever changes the way to it
   * meanwhile gains nothing. A second name (hard link) of a file that is closed to tools is refused.
   */
  async openFile(path: string, workspace: string): Promise<FileHandle> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await this.#openOnce(path, workspace);
      } catch (error) {
        // Programs replace their files in one step, some of them often.
        if (!(error instanceof ChangedMeanwhile) || tries === MOST_TRIES) throw error;
      }
    }
  }

  async #openOnce(path: string, workspace: string): Promise<FileHandle> {
    const real = await this.locate(path, workspace, "read");
    // A device may act when it is opened, and a socket cannot be.
    mustBeFile(await stat(real), path);
    const file = await openAt(real);
    try {
      const found = await file.stat();
      mustBeFile(found, path);
      await this.#judge(await whereIs(file, real), { path, workspace, mode: "read" });
      if (await this.#isClosed(found)) throw new Error(belongs(path));
      return file;
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  /** Opens a directory for reading, judged as a file is. */
  async openFolder(path: string, workspace: string): Promise<OpenFolder> {
    const real = await this.locate(path, workspace, "read");
    if (!(await stat(real)).isDirectory()) {
      throw new Error(`${path} is not a directory.`);
    }
    const folder = await OpenFolder.open(real);
    return this.#judged(folder, folder.path, { path, workspace, mode: "read" });
  }

  /** Opens the directory that a file is to be written into; makes it, and those above it, where they are missing. */
  async openParent(path: string, workspace: string): Promise<{ readonly folder: OpenFolder; readonly name: string }> {
    const wish: Wish = { path, workspace, mode: "write" };
    const real = await this.locate(path, workspace, "write");
    const [root, missing] = await existingAbove(dirname(real));
    const name = basename(real);
    let folder = await OpenFolder.open(root);
    folder = await this.#judged(folder, join(folder.path, ...missing, name), wish);
    for (const step of missing) {
      folder = await this.#judgedStep(folder, step, { ...wish, name });
    }
    return { folder, name };
  }

  /** A test for many paths found under a located directory: false for those of the gateway's own. */
  async openPaths(): Promise<(path: string) => boolean> {
    const denied = [...SYSTEM, ...(await Promise.all(this.#rules.denied.map(realOf)))];
    const isForeign = await this.#foreignFiles();
    return (path) => !denied.some((root) => isInside(path, root)) && !isForeign(path);
  }

  /** A test for received files of other conversations than the guest's own. */
  async #foreignFiles(): Promise<(real: string) => boolean> {
    const { guest } = this.#rules;
    if (!guest) return () => false;
    const dir = await realOf(guest.received.dir);
    const own = await guest.received.own();
    return (real) => real !== dir && isInside(real, dir) && !own.has(relative(dir, real));
  }

  async #judgeGuest(real: string, { path, mode }: Wish): Promise<void> {
    const { guest } = this.#rules;
    if (!guest) return;
    if (mode === "write" && (await shapesPrompts(real, guest.prompts))) {
      throw new Error(
        `${path} shapes what the agent is told or runs in everybody's turns: only an owner's turn may write it ` +
          "(commands.ownerAllowFrom names owners).",
      );
    }
    const isForeign = await this.#foreignFiles();
    if (isForeign(real)) throw new Error(`${path} is no file of this conversation.`);
  }

  /** A directory in a directory, which is closed. */
  async #judgedStep(above: OpenFolder, step: string, wish: Wish & { readonly name: string }): Promise<OpenFolder> {
    try {
      const folder = await above.folder(step);
      return await this.#judged(folder, join(folder.path, wish.name), wish);
    } finally {
      await above.close();
    }
  }

  async #judged(folder: OpenFolder, path: string, wish: Wish): Promise<OpenFolder> {
    try {
      await this.#judge(path, wish);
      return folder;
    } catch (error) {
      await folder.close();
      throw error;
    }
  }

  async #judge(real: string, { path, workspace, mode }: Wish): Promise<void> {
    refuseSystem(real, path);
    if (await isInsideAny(real, this.#rules.denied)) {
      throw new Error(belongs(path));
    }
    await this.#judgeGuest(real, { path, workspace, mode });
    if (!this.#rules.workspaceOnly) return;
    const roots = mode === "read" ? [workspace, ...this.#rules.readable] : [workspace];
    if (!(await isInsideAny(real, roots))) {
      throw new Error(`${path} lies outside the workspace (${workspace}); file tools stay inside it.`);
    }
  }

  /** Only a file with several names can be a closed one under another name. */
  async #isClosed(found: FileIdentity & { readonly nlink: number }): Promise<boolean> {
    if (await isOwnOutput(found)) return true;
    if (found.nlink < 2) return false;
    for (const root of this.#rules.denied) {
      if (await holdsFile(root, found)) return true;
    }
    return false;
  }
}

function mustBeFile(found: Stats, path: string): void {
  if (found.isFile()) return;
  throw new Error(`${path} is ${found.isDirectory() ? "a directory; list it with ls" : "not a regular file"}.`);
}

const belongs = (path: string): string => `${path} belongs to the gateway itself; tools may not touch it.`;

function refuseSystem(real: string, path: string): void {
  if (SYSTEM.some((root) => isInside(real, root))) {
    throw new Error(`${path} is no file but a part of the system (/proc, /sys, /dev); file tools may not touch it.`);
  }
}

/** The deepest directory of a path that is there, and the names below it that are not. */
async function existingAbove(path: string): Promise<readonly [string, readonly string[]]> {
  const found = await unlessMissing(lstat(path));
  const parent = dirname(path);
  if (found !== undefined || parent === path) return [path, []];
  const [root, missing] = await existingAbove(parent);
  return [root, [...missing, basename(path)]];
}
