import { lstat, mkdir, rename, rm, stat } from "node:fs/promises";
import { errorText } from "../../utils/text/error-text.ts";
import { isHarmless } from "../host/repository/git-settings.ts";
import {
  pathText,
  bytePathOf,
  bytesOf,
  pathIn,
  entriesOf,
  makeUsable,
  type BytePath,
  type DirectoryEntry,
} from "./byte-path.ts";
import { GUARDED } from "../host/guarded.ts";
import { errorCode, isMissing, unlessMissing } from "../../utils/missing.ts";
import { isInside, realOf } from "../../utils/real-path.ts";
import { OpenFolder } from "../host/open.ts";
import { readRegular } from "../../utils/read-regular.ts";
import { hasCommand, REBASE_STEPS } from "../host/repository/rebase-steps.ts";
import { OWN_FOLDERS } from "./view.ts";

/** Milliseconds between two looks at the files of a command that still runs. */
const EVERY_MS = 10_000;
const MOST_NAMED = 10;
const MOST_PATH = 200;

/** Reports to the operator. */
export type Warn = (message: string, facts: Readonly<Record<string, unknown>>) => void;

/**
 * Watches the directories that a sandboxed command may write. Files there that programs outside would obey (Git's
 * settings and hooks in any repository, and shells' and editors' files at the top) are moved aside at the command's
 * end, and meanwhile. So are new directories that cannot be looked at completely.
 */
export class SandboxWatch {
  readonly #roots: readonly string[];
  readonly #before: ReadonlyMap<string, Obeyed>;
  /** Directories that existed before the command. */
  readonly #earlier: ReadonlySet<BytePath>;
  readonly #warn: Warn;
  readonly #moved: string[] = [];
  /** Directories that were moved because a part of them could not be looked at. */
  readonly #movedUnseen: string[] = [];
  readonly #timer: NodeJS.Timeout;
  #unseen: string | undefined;
  #looking: Promise<void> = Promise.resolve();

  private constructor(roots: readonly string[], { obeyed, seen }: Survey, warn: Warn) {
    this.#roots = roots;
    this.#before = new Map(obeyed.map((one) => [one.identity, one]));
    this.#earlier = seen;
    this.#warn = warn;
    this.#timer = setInterval(() => {
      this.#looking = this.#looking.then(() => this.#lookOnce(false));
    }, EVERY_MS);
    this.#timer.unref();
  }

  /**
   * Begins before a command. Rejects with a text for the model when a directory cannot be looked at completely. `roots`
   * have no links.
   */
  static async begin(roots: readonly string[], warn: Warn): Promise<SandboxWatch> {
    const before = await surveyOf(roots, GUARDED);
    const [unseen] = before.unseen;
    if (unseen)
      throw new Error(
        `The command was not run: what it could leave for Git in its directories cannot be checked, for ${whyOf(unseen)}. ` +
          "The operator can mend that, or set agents.defaults.sandbox.workspaceAccess to ro; `openclaw sandbox recreate` empties a " +
          "sandbox's own folder.",
      );
    return new SandboxWatch(roots, before, warn);
  }

  /** Called once, when the command has ended. Resolves with a text for the model, or undefined. Never rejects. */
  async end(): Promise<string | undefined> {
    clearInterval(this.#timer);
    await this.#looking;
    await this.#lookOnce(true);
    const texts = [
      this.#moved.length > 0 ? movedText(this.#moved) : "",
      this.#movedUnseen.length > 0 ? unseenText(this.#movedUnseen) : "",
      this.#unseen === undefined ? "" : `What the command left for Git could not be checked, for ${this.#unseen}.`,
    ].filter((text) => text !== "");
    return texts.length === 0 ? undefined : texts.join(" ");
  }

  async #lookOnce(isEnd: boolean): Promise<void> {
    this.#unseen = undefined;
    try {
      const { obeyed, unseen } = await surveyOf(this.#roots, GUARDED, this.#earlier);
      for (const one of obeyed)
        if ((isEnd || one.isAtEnd !== true) && !this.#isAllowed(one)) await this.#move(one, OBEYED, this.#moved);
      for (const one of unseen) await this.#move(one, whyOf(one), this.#movedUnseen);
    } catch (error) {
      this.#unseen = errorText(error);
    }
    if (this.#unseen !== undefined)
      this.#warn("what a sandboxed command left for Git could not be checked", { why: this.#unseen });
  }

  #isAllowed({ identity, path, config }: Obeyed): boolean {
    if (this.#before.has(identity)) return true;
    const earlier = [...this.#before.values()].find((one) => one.path === path);
    return config !== undefined && isHarmless(config, earlier?.config);
  }

  /** Moves a path aside. A failure must not keep other paths from being moved. */
  async #move(one: SurveyedPath, why: string, moved: string[]): Promise<void> {
    try {
      const to = await setAside(one, Date.now());
      this.#warn("a sandboxed command made what must not stay: moved aside", { path: pathText(one.path), to, why });
      moved.push(pathText(one.path.slice(one.root.length + 1)));
    } catch (error) {
      this.#unseen = errorText(error);
    }
  }
}

const OBEYED = "programs outside obey it";

const whyOf = ({ path, why }: Unseen): string => `${pathText(path).slice(0, MOST_PATH)}: ${why}`;

function unseenText(moved: readonly string[]): string {
  return (
    `Moved to .openclaw/set-aside, for not all directories in it can be checked (too many, or paths that are too long): ${namesOf(moved)}. ` +
    "Tell the user, who can put it back."
  );
}

const movedText = (moved: readonly string[]): string =>
  `Moved to .openclaw/set-aside, for programs outside the sandbox would obey it: ${namesOf(moved)}. ` +
  "Do not make it again; the user can put it back.";

function namesOf(moved: readonly string[]): string {
  const names = [...new Set(moved)];
  const more = names.length > MOST_NAMED ? `, and ${names.length - MOST_NAMED} more` : "";
  return `${names.slice(0, MOST_NAMED).join(", ")}${more}`;
}

/** Folder below a writable directory; no sandboxed command can write there. */
const PLACE = ".openclaw/set-aside";
/** Most bytes of a name. */
const MOST_NAME = 150;

/**
 * Moves a file, link or directory to a place where no program obeys it, under another name. Resolves with the new path;
 * undefined when the path does not exist or lies outside of its root. Moves nothing outside of the root, even if a
 * program puts a link into the path meanwhile.
 */
async function setAside({ path, root }: SurveyedPath, now: number): Promise<string | undefined> {
  const place = pathIn(pathIn(root, PLACE), new Date(now).toISOString().replaceAll(":", "-"));
  await mkdir(bytesOf(place), { recursive: true, mode: 0o700 });
  const slash = path.lastIndexOf("/");
  const target = await freeIn(
    place,
    path
      .slice(root.length + 1)
      .replaceAll("/", "~")
      .slice(-MOST_NAME),
  );
  let folder: OpenFolder | undefined;
  try {
    folder = await OpenFolder.open(Buffer.from(path.slice(0, slash), "latin1"));
    if (!isInside(folder.path, await realOf(pathText(root)))) return undefined;
    await move(bytesOf(pathIn(bytePathOf(folder.base), path.slice(slash + 1))), bytesOf(target));
    return pathText(target);
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  } finally {
    await folder?.close();
  }
}

/** A free path for a name in a directory, with a number if the name is taken. */
async function freeIn(place: BytePath, name: string): Promise<BytePath> {
  for (let number = 1; ; number += 1) {
    const path = pathIn(place, number === 1 ? name : `${name}~${number}`);
    if ((await unlessMissing(lstat(bytesOf(path)))) === undefined) return path;
  }
}

/** Renames a path, or removes it if it lies on another file system. */
async function move(from: Buffer, to: Buffer): Promise<void> {
  try {
    await rename(from, to);
  } catch (error) {
    if (errorCode(error) !== "EXDEV") throw error;
    await rm(from, { recursive: true, force: true });
  }
}

/** A path in a writable directory. */
interface SurveyedPath {
  readonly path: BytePath;
  /** The writable directory that contains the path. */
  readonly root: BytePath;
}

/**
 * A file, link or directory that programs outside the sandbox obey: one that Git runs or reads, or a guarded one at the
 * top of a directory.
 */
interface Obeyed extends SurveyedPath {
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
interface Unseen extends SurveyedPath {
  /** Reason as the end of a sentence. */
  readonly why: string;
}

interface Survey {
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
async function surveyOf(
  roots: readonly string[],
  names: readonly string[],
  earlier?: ReadonlySet<BytePath>,
): Promise<Survey> {
  const surveyor = new Surveyor(names, earlier);
  await surveyor.walk(roots.map(bytePathOf));
  return { obeyed: surveyor.obeyed, unseen: surveyor.unseen, seen: surveyor.seen };
}
