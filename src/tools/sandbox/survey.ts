import type { Dirent } from "node:fs";
import { lstat, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { errorCode, unlessMissing } from "../../utils/missing.ts";
import { readRegular } from "../../utils/read-regular.ts";
import { hasCommand, REBASE_STEPS } from "../host/repository/rebase-steps.ts";

/** A file, link or directory that programs outside the sandbox obey: what Git runs, or what is guarded at the top of a directory. */
export interface Obeyed {
  readonly path: string;
  /** The writable directory that it lies in. */
  readonly root: string;
  /** Changes with its content, its mode and its place on the disk; the kernel lets no program choose it. */
  readonly identity: string;
  /** The text of Git's settings. */
  readonly config?: string;
  /** A command that still runs needs it: it counts only when the command has ended. */
  readonly isAtEnd?: true;
}

export interface Survey {
  readonly obeyed: readonly Obeyed[];
  /** Why some of it could not be looked at, as a sentence. */
  readonly unseen?: string;
}

/** Most directories that are looked at. */
const MOST_DIRECTORIES = 20_000;
const AT_ONCE = 32;
const MOST_CONFIG_BYTES = 100_000;
/** No person runs Git in a package of others. */
const SKIPPED = new Set(["node_modules"]);
/** In a `.git` directory, the ones that hold settings of other working trees. */
const IN_GIT = new Set(["modules", "worktrees"]);
const SETTINGS = ["config", "config.worktree", "commondir"];

class Surveyor {
  readonly found: Obeyed[] = [];
  unseen: string | undefined;
  readonly #root: string;
  readonly #guarded: ReadonlySet<string>;
  #left: number;

  constructor(root: string, guarded: readonly string[], left: number) {
    this.#root = root;
    this.#guarded = new Set(guarded);
    this.#left = left;
  }

  get left(): number {
    return this.#left;
  }

  /** Directories near the top come first. */
  async walk(): Promise<void> {
    let level = [this.#root];
    while (level.length > 0) {
      const next: string[] = [];
      for (let at = 0; at < level.length; at += AT_ONCE) {
        const some = level.slice(at, at + AT_ONCE);
        const inside = await Promise.all(some.map((dir) => this.#look(dir)));
        next.push(...inside.flat());
        this.#left -= some.length;
      }
      if (this.#left < 0) {
        this.unseen ??= `${this.#root} has more than ${MOST_DIRECTORIES} directories`;
        return;
      }
      level = next;
    }
  }

  /** Looks at one directory; gives back those in it that are to be looked at too. */
  async #look(dir: string): Promise<readonly string[]> {
    const entries = await this.#entries(dir);
    const names = new Set(entries.map(({ name }) => name));
    const isGit = dir.endsWith("/.git");
    if (isGit || isRepository(names)) await this.#lookAtRepository(dir, entries);
    if (dir === this.#root) for (const name of names) if (this.#guarded.has(name)) await this.#add(join(dir, name));
    const git = entries.find(({ name }) => name === ".git");
    if (git && !git.isDirectory()) await this.#add(join(dir, ".git"));
    return entries
      .filter((entry) => entry.isDirectory() && !SKIPPED.has(entry.name) && (!isGit || IN_GIT.has(entry.name)))
      .map(({ name }) => join(dir, name));
  }

  async #lookAtRepository(dir: string, entries: readonly Dirent[]): Promise<void> {
    for (const { name } of entries) if (SETTINGS.includes(name)) await this.#add(join(dir, name));
    if (entries.some(({ name }) => name === "rebase-merge"))
      await this.#addSteps(join(dir, "rebase-merge", REBASE_STEPS));
    const hooks = entries.find(({ name }) => name === "hooks");
    if (!hooks) return;
    if (!hooks.isDirectory()) return this.#add(join(dir, "hooks"));
    for (const { name } of await this.#entries(join(dir, "hooks")))
      if (!name.endsWith(".sample")) await this.#add(join(dir, "hooks", name));
  }

  /** The steps of a rebase that is under way: Git runs the commands among them when somebody continues it. */
  async #addSteps(path: string): Promise<void> {
    const text = await readRegular(path, MOST_CONFIG_BYTES).catch(() => undefined);
    if (text === undefined || hasCommand(text.toString("utf8"))) await this.#add(path, { isAtEnd: true });
  }

  async #add(path: string, more: Pick<Obeyed, "isAtEnd"> = {}): Promise<void> {
    const found = await unlessMissing(lstat(path, { bigint: true }));
    if (!found) return;
    // The times of a directory change with what is added to it.
    const time = found.isDirectory() ? "" : found.ctimeNs;
    const isConfig = path.endsWith("/config") && found.isFile() && found.size <= MOST_CONFIG_BYTES;
    // Unread settings count as settings that run something.
    const config = isConfig ? await readRegular(path, MOST_CONFIG_BYTES).catch(() => undefined) : undefined;
    this.found.push({
      path,
      root: this.#root,
      identity: `${found.dev}:${found.ino}:${time}${found.isSymbolicLink() ? await this.#target(path) : ""}`,
      ...(config !== undefined && { config: config.toString("utf8") }),
      ...more,
    });
  }

  /** The same of what a link leads to. */
  async #target(path: string): Promise<string> {
    const found = await stat(path, { bigint: true }).catch(() => undefined);
    return found ? `>${found.dev}:${found.ino}:${found.isDirectory() ? "" : found.ctimeNs}` : ">";
  }

  async #entries(dir: string): Promise<readonly Dirent[]> {
    try {
      const entries = await readdir(dir, { withFileTypes: true });
      if (entries.some((entry) => entry.isDirectory() && entry.name.includes("\uFFFD")))
        this.unseen ??= `${dir} has a directory whose name is not UTF-8`;
      return entries;
    } catch (error) {
      const code = errorCode(error);
      // It was removed meanwhile, or is a file now.
      if (code === "ENOENT" || code === "ENOTDIR") return [];
      if (code !== "EACCES" && code !== "EPERM") throw error;
      // A sandboxed command cannot make a directory of another user.
      if ((await unlessMissing(lstat(dir)))?.uid === process.getuid?.()) this.unseen ??= `${dir} may not be read`;
      return [];
    }
  }
}

/** As Git finds a repository that is not named `.git`. */
const isRepository = (names: ReadonlySet<string>): boolean =>
  names.has("HEAD") && ((names.has("objects") && names.has("refs")) || names.has("commondir"));

/** Looks up what programs outside obey in these directories: all of Git's repositories, and `names` at the top. */
export async function surveyOf(roots: readonly string[], names: readonly string[]): Promise<Survey> {
  const obeyed: Obeyed[] = [];
  let left = MOST_DIRECTORIES;
  let unseen: string | undefined;
  for (const root of roots) {
    const surveyor = new Surveyor(root, names, left);
    await surveyor.walk();
    left = surveyor.left;
    obeyed.push(...surveyor.found);
    unseen ??= surveyor.unseen;
  }
  return { obeyed, ...(unseen !== undefined && { unseen }) };
}
