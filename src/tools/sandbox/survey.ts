import { lstat, stat } from "node:fs/promises";
import { errorCode, isMissing, unlessMissing } from "../../utils/missing.ts";
import { readRegular } from "../../utils/read-regular.ts";
import { hasCommand, REBASE_STEPS } from "../host/repository/rebase-steps.ts";
import { OWN_FOLDERS } from "./view.ts";
import { bytePathOf, bytesOf, entriesOf, makeUsable, pathIn, type BytePath, type DirectoryEntry } from "./byte-path.ts";

/** A path in a writable directory. */
export interface SurveyedPath {
  readonly path: BytePath;
  /** The writable directory that contains the path. */
  readonly root: BytePath;
}

/**
 * A file, link or directory that programs outside the sandbox obey: one that Git runs or reads, or a guarded one at the
 * top of a directory.
 */
export interface Obeyed extends SurveyedPath {
  /**
   * Changes with the content, the mode and the place on the disk; no program can choose the value, which the kernel
   * sets.
   */
  readonly identity: string;
  /** The text of Git's settings. */
  readonly config?: string;
  /** Set for a file that a command needs while it runs: the file counts only when the command has ended. */
  readonly isAtEnd?: true;
}

/** A directory that could not be looked at, or the highest one above it that the earlier survey does not have. */
export interface Unseen extends SurveyedPath {
  /** Reason as the end of a sentence. */
  readonly why: string;
}

export interface Survey {
  readonly obeyed: readonly Obeyed[];
  readonly unseen: readonly Unseen[];
  /** The directories that were looked at. */
  readonly seen: ReadonlySet<BytePath>;
}

/** Most directories that are looked at. */
const MOST_DIRECTORIES = 20_000;
const AT_ONCE = 32;
const MOST_CONFIG_BYTES = 100_000;
/** Directories that are not looked at: no person runs Git in a package of others. */
const SKIPPED = new Set(["node_modules"]);
/** Directories of a `.git` directory with settings of other working trees. */
const IN_GIT = new Set(["modules", "worktrees"]);
const SETTINGS = ["config", "config.worktree", "commondir"];

/** A directory to look at. */
interface Dir extends SurveyedPath {
  /** The highest directory above this one, or this one, that the earlier survey does not have. */
  readonly top?: BytePath;
}

class Surveyor {
  readonly obeyed: Obeyed[] = [];
  readonly #unseen = new Map<BytePath, Unseen>();
  readonly seen = new Set<BytePath>();
  readonly #guarded: ReadonlySet<string>;
  /** Directories of an earlier survey, which a command may have made unreadable since. */
  readonly #earlier: ReadonlySet<BytePath> | undefined;

  constructor(guarded: readonly string[], earlier: ReadonlySet<BytePath> | undefined) {
    this.#guarded = new Set(guarded);
    this.#earlier = earlier;
  }

  get unseen(): readonly Unseen[] {
    return [...this.#unseen.values()];
  }

  /**
   * Looks at all directories. Directories of the earlier survey come first, whatever their number; of the others those
   * near the top.
   */
  async walk(roots: readonly BytePath[]): Promise<void> {
    const earlier = this.#earlier ?? new Set();
    const fresh: Dir[][] = [];
    let level: readonly Dir[] = roots.map((root) => ({ path: root, root }));
    while (level.length > 0) {
      const inside = await this.#lookAt(level);
      fresh.push(inside.filter(({ path }) => !earlier.has(path)).map((dir) => ({ ...dir, top: dir.path })));
      level = inside.filter(({ path }) => earlier.has(path));
    }
    level = fresh.flat();
    while (level.length > 0) {
      const most = Math.max(0, MOST_DIRECTORIES - this.seen.size);
      for (const dir of level.slice(most)) this.#addUnseen(dir, `there are more than ${MOST_DIRECTORIES} directories`);
      level = await this.#lookAt(level.slice(0, most));
    }
  }

  /** Looks at directories. Returns the directories inside. */
  async #lookAt(level: readonly Dir[]): Promise<readonly Dir[]> {
    const next: (readonly Dir[])[] = [];
    for (let at = 0; at < level.length; at += AT_ONCE) {
      const some = level.slice(at, at + AT_ONCE);
      next.push((await Promise.all(some.map((dir) => this.#look(dir)))).flat());
    }
    return next.flat();
  }

  /** Looks at one directory. Returns the directories inside that need a look too. */
  async #look(dir: Dir): Promise<readonly Dir[]> {
    const { path, root } = dir;
    this.seen.add(path);
    const entries = await this.#entries(dir);
    const names = new Set(entries.map(({ name }) => name));
    const isGit = path.endsWith("/.git");
    if (isGit || isRepository(names)) await this.#lookAtRepository(dir, entries);
    if (path === root) for (const name of names) if (this.#guarded.has(name)) await this.#add(dir, name);
    const git = entries.find(({ name }) => name === ".git");
    if (git && !git.isDirectory) await this.#add(dir, ".git");
    const isSkipped = (name: string) =>
      SKIPPED.has(name) || (isGit && !IN_GIT.has(name)) || (path === root && OWN_FOLDERS.includes(name));
    return entries.filter((one) => one.isDirectory && !isSkipped(one.name)).map(({ name }) => inside(dir, name));
  }

  async #lookAtRepository(dir: Dir, entries: readonly DirectoryEntry[]): Promise<void> {
    for (const { name } of entries) if (SETTINGS.includes(name)) await this.#add(dir, name);
    if (entries.some(({ name }) => name === "rebase-merge")) await this.#addSteps(inside(dir, "rebase-merge"));
    const hooks = entries.find(({ name }) => name === "hooks");
    if (!hooks) return;
    if (!hooks.isDirectory) return this.#add(dir, "hooks");
    const folder = inside(dir, "hooks");
    for (const { name } of await this.#entries(folder)) if (!name.endsWith(".sample")) await this.#add(folder, name);
  }

  /**
   * Notes the steps of a rebase that is under way: Git runs the commands among them when a person continues the rebase.
   */
  async #addSteps(dir: Dir): Promise<void> {
    const text = await readRegular(bytesOf(pathIn(dir.path, REBASE_STEPS)), MOST_CONFIG_BYTES).catch(() => undefined);
    if (text === undefined || hasCommand(text.toString("utf8"))) await this.#add(dir, REBASE_STEPS, { isAtEnd: true });
  }

  async #add(dir: Dir, name: string, more: Pick<Obeyed, "isAtEnd"> = {}): Promise<void> {
    const path = pathIn(dir.path, name);
    const bytes = bytesOf(path);
    const found = await lstat(bytes, { bigint: true }).catch((error: unknown) => this.#failed(dir, error));
    if (!found) return;
    // The times of a directory change when an entry is added.
    const time = found.isDirectory() ? "" : found.ctimeNs;
    const isConfig = name === "config" && found.isFile() && found.size <= MOST_CONFIG_BYTES;
    // Unread settings count as settings that run a program.
    const config = isConfig ? await readRegular(bytes, MOST_CONFIG_BYTES).catch(() => undefined) : undefined;
    this.obeyed.push({
      path,
      root: dir.root,
      identity: `${found.dev}:${found.ino}:${time}${found.isSymbolicLink() ? await targetOf(bytes) : ""}`,
      ...(config !== undefined && { config: config.toString("utf8") }),
      ...more,
    });
  }

  async #entries(dir: Dir): Promise<readonly DirectoryEntry[]> {
    try {
      return await entriesOf(dir.path).catch(async (error: unknown) => {
        if (!this.#earlier || !isForbidden(error)) throw error;
        await makeUsable(dir.path);
        return entriesOf(dir.path);
      });
    } catch (error) {
      // A sandboxed command cannot make a directory of another user.
      const isOfOther =
        isForbidden(error) && (await unlessMissing(lstat(bytesOf(dir.path))))?.uid !== process.getuid?.();
      if (!isOfOther) this.#failed(dir, error);
      return [];
    }
  }

  #failed(dir: Dir, error: unknown): undefined {
    // The entry was removed meanwhile, or its directory is a file now.
    if (isMissing(error) || errorCode(error) === "ENOTDIR") return;
    this.#addUnseen(dir, errorCode(error) === "ENAMETOOLONG" ? "its path is too long" : "it may not be read");
  }

  #addUnseen({ path, root, top = path }: Dir, why: string): void {
    if (!this.#unseen.has(top)) this.#unseen.set(top, { path: top, root, why });
  }
}

const inside = ({ path, root, top }: Dir, name: string): Dir => ({
  path: pathIn(path, name),
  root,
  ...(top !== undefined && { top }),
});

const isForbidden = (error: unknown): boolean => ["EACCES", "EPERM"].includes(errorCode(error) ?? "");

/** The identity of a link's target. */
async function targetOf(path: Buffer): Promise<string> {
  const found = await stat(path, { bigint: true }).catch(() => undefined);
  return found ? `>${found.dev}:${found.ino}:${found.isDirectory() ? "" : found.ctimeNs}` : ">";
}

/** Whether a directory that is not named `.git` is a repository for Git. */
const isRepository = (names: ReadonlySet<string>): boolean =>
  names.has("HEAD") && ((names.has("objects") && names.has("refs")) || names.has("commondir"));

/**
 * Looks up files that programs outside obey in these directories: in all of Git's repositories, and `names` at the top.
 * With the directories of an earlier survey, each of these is looked at, and unreadable ones of the gateway's user are
 * made readable.
 */
export async function surveyOf(
  roots: readonly string[],
  names: readonly string[],
  earlier?: ReadonlySet<BytePath>,
): Promise<Survey> {
  const surveyor = new Surveyor(names, earlier);
  await surveyor.walk(roots.map(bytePathOf));
  return { obeyed: surveyor.obeyed, unseen: surveyor.unseen, seen: surveyor.seen };
}
