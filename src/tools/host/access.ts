import type { Stats } from "node:fs";
import { stat, type FileHandle } from "node:fs/promises";
import { homedir } from "node:os";
import { basename, dirname, join, relative, resolve } from "node:path";
import type { AccessMode } from "../../types/run/backend.ts";
import {
  holdsFile,
  isOwnOutput,
  type FileIdentity,
  hiddenFromGuests,
  hiddenNamesIn,
  isHiddenElsewhere,
  whyFileHidden,
} from "./guest-files.ts";
import { ChangedMeanwhile, openAt, OpenFolder, whereIs } from "./open.ts";
import { shapesPrompts, type PromptFiles } from "./prompt-files.ts";
import { existingAbove, isInside, realOf } from "../../utils/real-path.ts";

export interface AccessRules {
  /** True to keep paths inside the workspace, after symbolic links. */
  readonly workspaceOnly: boolean;
  /** Files and directories of the gateway itself, which no tool may touch. */
  readonly denied: readonly string[];
  /** Directories outside the workspace that may still be read: received media, skills, docs. */
  readonly readable: readonly string[];
  /**
   * The folder of all sessions' long results, and that of the turn's own session, the only one that the turn may read.
   */
  readonly outputs?: { readonly root: string; readonly own: string };
  /** Set when the turn does not have an owner's rights. */
  readonly guest?: GuestRules;
}

/** Limits for everyone but owners. */
export interface GuestRules {
  readonly prompts: PromptFiles;
  /** The folder of received files, of which only those of this conversation may be read; `own` returns their names. */
  readonly received: { readonly dir: string; own(): Promise<ReadonlySet<string>> };
  /** Files and directories with notes of private chats. */
  readonly notes: readonly string[];
}

async function isInsideAny(path: string, roots: readonly string[]): Promise<boolean> {
  const real = await Promise.all(roots.map(realOf));
  return real.some((root) => isInside(path, root));
}

/**
 * Directories whose paths lead into the kernel and other processes instead of to plain files: environments, open
 * descriptors, endless devices. Windows has none of them.
 */
const SYSTEM: readonly string[] = process.platform === "win32" ? [] : ["/proc", "/sys", "/dev"];

/** Most tries to open a file that other programs keep changing. */
const MOST_TRIES = 3;

/** The access that a model requested. */
interface Access {
  readonly path: string;
  readonly workspace: string;
  readonly mode: AccessMode;
}

/** An entry of an open directory. */
interface OpenEntry {
  readonly folder: OpenFolder;
  readonly name: string;
}

/** Decides which paths tools may read and write. */
export class FileAccess {
  readonly #rules: AccessRules;

  constructor(rules: AccessRules) {
    this.#rules = rules;
  }

  /**
   * Turns a model's path into an absolute path without symbolic links; a relative path starts at the workspace. Throws
   * an error for the model when the access is not allowed.
   */
  async locate(path: string, workspace: string, mode: AccessMode): Promise<string> {
    const real = await realOf(namedPath(path, workspace));
    await this.#check(real, { path, workspace, mode });
    return real;
  }

  /**
   * Opens a regular file for reading. The opened file itself is checked, so a change of the path meanwhile has no
   * effect. Refuses a second name (hard link) of a file that is closed to tools.
   */
  async openFile(path: string, workspace: string): Promise<FileHandle> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await this.#openOnce(path, workspace);
      } catch (error) {
        // Programs replace files atomically, some of them often.
        if (!(error instanceof ChangedMeanwhile) || tries === MOST_TRIES) throw error;
      }
    }
  }

  async #openOnce(path: string, workspace: string): Promise<FileHandle> {
    const real = await this.locate(path, workspace, "read");
    // Opening a device may have an effect, and a socket cannot be opened.
    mustBeFile(await stat(real), path);
    const file = await openAt(real);
    try {
      const found = await file.stat();
      mustBeFile(found, path);
      await this.#check(await whereIs(file, real), { path, workspace, mode: "read" });
      if (await this.#isClosed(found, workspace)) throw new Error(belongs(path));
      return file;
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  /** Opens a directory for reading, with the same checks as a file. */
  async openFolder(path: string, workspace: string): Promise<OpenFolder> {
    const real = await this.locate(path, workspace, "read");
    if (!(await stat(real)).isDirectory()) {
      throw new Error(`${path} is not a directory.`);
    }
    const folder = await OpenFolder.open(real);
    return this.#closeUnlessAllowed(folder, folder.path, { path, workspace, mode: "read" });
  }

  /** Opens the directory for a file that is to be written. Creates it and its parents if they are missing. */
  async openParent(path: string, workspace: string): Promise<OpenEntry> {
    const real = await this.locate(path, workspace, "write");
    return this.#openDirectories(real, { path, workspace, mode: "write" });
  }

  /**
   * Opens the directory for a file that must not exist yet. Refuses a path that leads through a link, whatever its
   * target.
   */
  async openParentOfNew(path: string, workspace: string): Promise<OpenEntry> {
    const wanted = await this.locateNew(path, workspace);
    const access: Access = { path, workspace, mode: "write" };
    const { folder, name } = await this.#openDirectories(wanted, access);
    if (folder.path === dirname(wanted)) return { folder, name };
    await folder.close();
    throw new ChangedMeanwhile();
  }

  /**
   * The absolute path of a file that is to be created. Throws when the path leads through a link, or is not allowed.
   */
  async locateNew(path: string, workspace: string): Promise<string> {
    const wanted = await withoutLinks(path, workspace);
    await this.#check(wanted, { path, workspace, mode: "write" });
    return wanted;
  }

  /**
   * Opens the directory of an entry that is to be removed. Does not follow the entry when it is a link. Creates
   * nothing.
   */
  async openParentOfEntry(path: string, workspace: string): Promise<OpenEntry> {
    const named = namedPath(path, workspace);
    const name = basename(named);
    const access: Access = { path, workspace, mode: "write" };
    const above = await realOf(dirname(named));
    await this.#check(join(above, name), access);
    const folder = await OpenFolder.open(above);
    return { folder: await this.#closeUnlessAllowed(folder, join(folder.path, name), access), name };
  }

  /** The same rules, with all paths in the workspace. */
  confined(): FileAccess {
    return new FileAccess({ ...this.#rules, workspaceOnly: true });
  }

  async #openDirectories(real: string, access: Access): Promise<OpenEntry> {
    const [root, missing] = await existingAbove(dirname(real));
    const name = basename(real);
    let folder = await OpenFolder.open(root);
    folder = await this.#closeUnlessAllowed(folder, join(folder.path, ...missing, name), access);
    for (const step of missing) {
      folder = await this.#openStep(folder, step, { ...access, name });
    }
    return { folder, name };
  }

  /** Returns a test for paths under a located directory, which is false for paths that are closed to tools. */
  async openPaths(): Promise<(path: string) => boolean> {
    const denied = [...SYSTEM, ...(await Promise.all(this.#closed().map(realOf)))];
    const [isForeign, isForeignOutput, isHidden] = await Promise.all([
      this.#foreignFiles(),
      this.#foreignOutputs(),
      hiddenNamesIn(this.#rules.guest?.prompts.workspaces ?? []),
    ]);
    const tests = [isForeign, isForeignOutput, isHidden];
    return (path) => !denied.some((root) => isInside(path, root)) && !tests.some((test) => test(path));
  }

  /** Returns a test for received files of conversations other than the guest's. */
  async #foreignFiles(): Promise<(real: string) => boolean> {
    const { guest } = this.#rules;
    if (!guest) return () => false;
    const dir = await realOf(guest.received.dir);
    const own = await guest.received.own();
    return (real) => real !== dir && isInside(real, dir) && !own.has(relative(dir, real));
  }

  /** Returns a test for long results of other sessions, and for the folder of all results. */
  async #foreignOutputs(): Promise<(real: string) => boolean> {
    const { outputs } = this.#rules;
    if (!outputs) return () => false;
    const [root, own] = await Promise.all([realOf(outputs.root), realOf(outputs.own)]);
    return (real) => isInside(real, root) && !isInside(real, own);
  }

  async #checkGuest(real: string, { path, mode, workspace }: Access): Promise<void> {
    const { guest } = this.#rules;
    if (!guest) return;
    if (mode === "write" && (await shapesPrompts(real, guest.prompts))) {
      throw new Error(
        `${path} affects the prompts or programs of everyone's turns: only an owner's turn may write it ` +
          "(commands.ownerAllowFrom names owners).",
      );
    }
    if (await isInsideAny(real, guest.notes)) throw new Error(`${path} ${whyFileHidden("notes")}.`);
    const hidden = await hiddenFromGuests(real, [workspace, ...guest.prompts.workspaces]);
    if (hidden !== undefined) throw new Error(`${path} ${whyFileHidden(hidden)}.`);
    const isForeign = await this.#foreignFiles();
    if (isForeign(real)) throw new Error(`${path} is not a file of this conversation.`);
  }

  /** Opens a directory in another one, creates it if missing, and closes the outer one. */
  async #openStep(above: OpenFolder, step: string, access: Access & { readonly name: string }): Promise<OpenFolder> {
    try {
      const folder = await above.folder(step);
      return await this.#closeUnlessAllowed(folder, join(folder.path, access.name), access);
    } finally {
      await above.close();
    }
  }

  async #closeUnlessAllowed(folder: OpenFolder, path: string, access: Access): Promise<OpenFolder> {
    try {
      await this.#check(path, access);
      return folder;
    } catch (error) {
      await folder.close();
      throw error;
    }
  }

  async #check(real: string, { path, workspace, mode }: Access): Promise<void> {
    refuseSystem(real, path);
    if (await isInsideAny(real, this.#rules.denied)) throw new Error(belongs(path));
    const isForeignOutput = await this.#foreignOutputs();
    if (isForeignOutput(real)) throw new Error(`${path} is not a file of this conversation.`);
    await this.#checkGuest(real, { path, workspace, mode });
    if (!this.#rules.workspaceOnly) return;
    const roots = mode === "read" ? [workspace, ...this.#rules.readable] : [workspace];
    if (!(await isInsideAny(real, roots))) {
      throw new Error(`${path} is outside the workspace (${workspace}); file tools stay inside it.`);
    }
  }

  #closed(): readonly string[] {
    const { denied, guest } = this.#rules;
    return [...denied, ...(guest?.notes ?? [])];
  }

  /** Whether a file is closed to tools under another name, as a file with several names may be. */
  async #isClosed(found: FileIdentity & { readonly nlink: number }, workspace: string): Promise<boolean> {
    if (await isOwnOutput(found)) return true;
    if (found.nlink < 2) return false;
    for (const root of this.#closed()) {
      if (await holdsFile(root, found)) return true;
    }
    const { guest } = this.#rules;
    return guest !== undefined && isHiddenElsewhere(found, [workspace, ...guest.prompts.workspaces]);
  }
}

/** Characters of the longest path that Linux takes. */
const MOST_PATH = 4096;

/** A model's path as an absolute one. Throws for paths that no tool may touch. */
function namedPath(path: string, workspace: string): string {
  if (path.includes("\0")) throw new Error("A path cannot hold a NUL character.");
  // Each directory of a path is looked up: a path that no system can have would take minutes.
  if (path.length > MOST_PATH) throw new Error(`A path cannot have more than ${MOST_PATH} characters.`);
  const named = resolve(workspace, path.replace(/^~(?=$|[/\\])/, homedir()));
  // Checked before links are resolved: those of /proc lead to files that other processes have open.
  refuseSystem(named, path);
  return named;
}

/**
 * The absolute path, without links below the workspace, or without any links outside it. Throws for a path with such a
 * link.
 */
async function withoutLinks(path: string, workspace: string): Promise<string> {
  const named = namedPath(path, workspace);
  const wanted = isInside(named, workspace) ? join(await realOf(workspace), relative(workspace, named)) : named;
  const above = await realOf(dirname(wanted));
  if (above === dirname(wanted)) return wanted;
  throw new Error(`${path} leads through a symbolic link to ${above}; a new file needs a path without links.`);
}

function mustBeFile(found: Stats, path: string): void {
  if (found.isFile()) return;
  throw new Error(`${path} is ${found.isDirectory() ? "a directory; list it with ls" : "not a regular file"}.`);
}

const belongs = (path: string): string => `${path} belongs to the gateway itself; tools may not touch it.`;

function refuseSystem(real: string, path: string): void {
  if (SYSTEM.some((root) => isInside(real, root))) {
    throw new Error(
      `${path} is a part of the system (/proc, /sys, /dev), not a plain file; file tools may not touch it.`,
    );
  }
}
