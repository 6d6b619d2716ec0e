import { lstat, mkdir, rename, rm } from "node:fs/promises";
import { errorText } from "../../utils/text/error-text.ts";
import { isHarmless } from "../host/repository/git-settings.ts";
import { pathText, type BytePath, bytePathOf, bytesOf, pathIn } from "./byte-path.ts";
import { surveyOf, type SurveyedPath, type Obeyed, type Survey, type Unseen } from "./survey.ts";
import { GUARDED } from "../host/guarded.ts";
import { errorCode, isMissing, unlessMissing } from "../../utils/missing.ts";
import { isInside, realOf } from "../../utils/real-path.ts";
import { OpenFolder } from "../host/open.ts";

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
