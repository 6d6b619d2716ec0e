import { hash } from "node:crypto";
import type { BigIntStats } from "node:fs";
import { lstat, mkdir, readlink, rename, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { basename, dirname, join, relative } from "node:path";
import { errorCode, unlessMissing } from "../../utils/missing.ts";
import { realOf } from "../../utils/real-path.ts";
import { loadOnce } from "../../utils/share-calls.ts";
import { ChangedMeanwhile, copyOpen, openAt, OpenFolder } from "../host/open.ts";
import { outputRoot } from "../host/output-folders.ts";
import { listedName } from "../shown-path.ts";
import {
  choose,
  identitiesIn,
  fileIdentity,
  MOST_ENTRIES,
  MOST_MB,
  type Choosing,
  type Chosen,
} from "./guest-choice.ts";

/** The copy of a workspace for a guest's command. */
export interface GuestCopy {
  /** The workspace, without links. */
  readonly workspace: string;
  /** Directory of the copy. */
  readonly tree: string;
  /** Sentence about files that are not in the copy although guests may see them. */
  readonly note?: string;
  /** Makes an empty place in the copy, for a mount at a path of the workspace. */
  place(path: string): Promise<void>;
}

const COPIES_AT_ONCE = 8;
const MOST_NAMED = 5;
const MOST_TRIES = 10;
/**
 * Nanoseconds before its copy in which a changed file may have been changed once more within a tick of the file
 * system's clock.
 */
const TICK_NS = 50_000_000n;

/**
 * Copies of workspaces for the commands of guests. A mask over a file ends when a program renames another file to its
 * name, and a file that does not exist yet cannot have one; so such a command has no directory of the workspace, but a
 * copy of chosen files. Each command brings the copy up to date before it starts: changed files are copied anew, and
 * files that guests may no longer see are removed. A command that still runs sees these changes too.
 */
export class GuestCopies {
  readonly #dir: string;
  readonly #copies = new Map<string, WorkspaceCopy>();
  /** Removes the copies of an earlier process. Only the first call removes, unless it fails. */
  readonly clear: () => Promise<void>;

  /** Copies lie in `dir`, a directory of the gateway. */
  constructor(dir: string) {
    this.#dir = dir;
    this.clear = loadOnce(() => rm(dir, { recursive: true, force: true }));
  }

  /**
   * Brings the copy of a workspace up to date, for one command after the other. Undefined where there is no such
   * directory.
   */
  async of(choosing: Choosing): Promise<GuestCopy | undefined> {
    await this.clear();
    const workspace = await realOf(choosing.workspace);
    if ((await unlessMissing(lstat(workspace)))?.isDirectory() !== true) return undefined;
    const dir = join(this.#dir, hash("sha256", workspace).slice(0, 16));
    const copy = this.#copies.get(workspace) ?? new WorkspaceCopy(workspace, dir);
    this.#copies.set(workspace, copy);
    // The directory of the copies may itself lie in the workspace.
    return copy.update({ ...choosing, workspace, closed: [...choosing.closed, this.#dir, outputRoot(workspace)] });
  }
}

interface Copied {
  readonly kind: Chosen["kind"];
  /** Identity and time of the copied file; empty when the file has to be copied anew. */
  readonly version: string;
}

class WorkspaceCopy {
  readonly #workspace: string;
  readonly #tree: string;
  readonly #drafts: string;
  readonly #copied = new Map<string, Copied>();
  /** Places of mounts, and the directories above them. */
  readonly #places = new Set<string>();
  #last: Promise<unknown> = Promise.resolve();
  #draft = 0;

  constructor(workspace: string, dir: string) {
    this.#workspace = workspace;
    this.#tree = join(dir, "tree");
    this.#drafts = join(dir, "drafts");
  }

  update(choosing: Choosing): Promise<GuestCopy> {
    const updated = this.#last.then(() => this.#update(choosing));
    // The caller gets the failure; the next update does not.
    this.#last = updated.catch(() => undefined);
    return updated;
  }

  async #update(choosing: Choosing): Promise<GuestCopy> {
    for (const dir of [this.#tree, this.#drafts]) await mkdir(dir, { recursive: true, mode: 0o700 });
    const { chosen, tooMuch } = await choose(choosing);
    await this.#removeAllBut(chosen);
    await this.#makeDirectories(chosen);
    const failed = await this.#copyAll(chosen, choosing);
    const note = noteOf(tooMuch, failed);
    return {
      workspace: this.#workspace,
      tree: this.#tree,
      ...(note !== undefined && { note }),
      place: (path) => this.#place(relative(this.#workspace, path)),
    };
  }

  async #removeAllBut(chosen: readonly Chosen[]): Promise<void> {
    const kinds = new Map(chosen.map(({ path, kind }) => [path, kind]));
    for (const [path, { kind }] of this.#copied) if (kinds.get(path) !== kind) await this.#remove(path);
  }

  async #remove(path: string): Promise<void> {
    this.#copied.delete(path);
    if (!this.#places.has(path)) await rm(join(this.#tree, path), { recursive: true, force: true });
  }

  async #makeDirectories(chosen: readonly Chosen[]): Promise<void> {
    for (const { path, kind, facts } of chosen) {
      if (kind !== "directory" || this.#copied.has(path)) continue;
      await mkdir(join(this.#tree, path), { recursive: true, mode: Number(facts.mode & 0o777n) | 0o700 });
      this.#copied.set(path, { kind, version: "" });
    }
  }

  /**
   * Copies new and changed files, one directory after the other. Resolves with the paths of files that cannot be
   * copied.
   */
  async #copyAll(chosen: readonly Chosen[], { notes, closed }: Choosing): Promise<readonly string[]> {
    const fresh = chosen.filter(
      ({ path, kind, facts }) => kind !== "directory" && this.#copied.get(path)?.version !== versionOf(facts),
    );
    if (fresh.length === 0) return [];
    const begun = await this.#now();
    const failed: string[] = [];
    const files = new Map<string, string>();
    for (const [dir, all] of Map.groupBy(fresh, ({ path }) => dirname(path))) {
      let unopened: "gone" | "failed" = "gone";
      const folder = await OpenFolder.open(join(this.#workspace, dir)).catch((error: unknown) => {
        // A program removed the directory, or replaced it.
        if (!["ENOENT", "ENOTDIR", "ELOOP"].includes(errorCode(error) ?? "")) unopened = "failed";
        return undefined;
      });
      for (let at = 0; at < all.length; at += COPIES_AT_ONCE) {
        const some = all.slice(at, at + COPIES_AT_ONCE);
        const ends = await Promise.all(
          some.map((one) => this.#copy(one, { folder, unopened, closed: [...notes, ...closed], begun })),
        );
        ends.forEach((end, index) => {
          const path = some[index]?.path ?? "";
          if (end === "failed") failed.push(path);
          else if (end !== "gone") files.set(path, fileIdentity(end));
        });
      }
      await folder?.close();
    }
    await this.#removeNotes(files, notes);
    return failed;
  }

  /** The present time by the clock of the file system, in nanoseconds. */
  async #now(): Promise<bigint> {
    const file = join(this.#drafts, "now");
    await writeFile(file, "now");
    return (await lstat(file, { bigint: true })).ctimeNs;
  }

  /**
   * Removes copies of notes: a program that writes a note renames a file to it, which had another name when it was
   * chosen.
   */
  async #removeNotes(files: ReadonlyMap<string, string>, notes: readonly string[]): Promise<void> {
    const known = await identitiesIn(notes);
    for (const [path, identity] of files) if (known.has(identity)) await this.#remove(path);
  }

  /**
   * Copies a file or link, and resolves with the facts of the copied one. Removes an older copy when the copy fails.
   */
  async #copy(one: Chosen, { folder, unopened, closed, begun }: From): Promise<BigIntStats | "gone" | "failed"> {
    // A program may have put a link in the place of the file's directory, which would lead out of the workspace.
    const isThere = folder?.path === join(this.#workspace, dirname(one.path));
    for (let tries = 1; folder && isThere; tries += 1) {
      this.#draft += 1;
      const draft = join(this.#drafts, String(this.#draft));
      try {
        const facts = await copyTo(draft, folder.at(basename(one.path)), { ...one, closed });
        await rename(draft, join(this.#tree, one.path));
        const isSettled = begun - facts.ctimeNs > TICK_NS;
        this.#copied.set(one.path, { kind: one.kind, version: isSettled ? versionOf(facts) : "" });
        return facts;
      } catch (error) {
        await rm(draft, { force: true });
        // Programs replace files atomically, some of them often.
        if (error instanceof ChangedMeanwhile && tries < MOST_TRIES) continue;
        await this.#remove(one.path);
        // With another code the user may not read the file, or the disk is full.
        return errorCode(error) === "ENOENT" ? "gone" : "failed";
      }
    }
    await this.#remove(one.path);
    return folder ? "gone" : unopened;
  }

  async #place(path: string): Promise<void> {
    const place = join(this.#tree, path);
    const isDirectory = (await lstat(join(this.#workspace, path))).isDirectory();
    for (let one = path; one !== "."; one = dirname(one)) this.#places.add(one);
    await mkdir(isDirectory ? place : dirname(place), { recursive: true, mode: 0o700 });
    if (!isDirectory) await writeFile(place, "", { flag: "a" });
  }
}

interface From {
  /** The directory that is at its path now; undefined when it cannot be opened. */
  readonly folder: OpenFolder | undefined;
  /** Result for its files in that case. */
  readonly unopened: "gone" | "failed";
  /** Files and directories that are closed to guests, with their content. */
  readonly closed: readonly string[];
  /** Start of the copying, in nanoseconds of the file system's clock. */
  readonly begun: bigint;
}

/**
 * Copies the present file or link at a path. Rejects with `ChangedMeanwhile` when it may be one that was not chosen.
 */
async function copyTo(
  draft: string,
  path: string,
  { kind, facts, closed }: Pick<Chosen, "kind" | "facts"> & Pick<From, "closed">,
): Promise<BigIntStats> {
  if (kind === "link") {
    await symlink(await readlink(path), draft);
    return facts;
  }
  const file = await openAt(path);
  try {
    const found = await file.stat({ bigint: true });
    const isChosen = fileIdentity(found) === fileIdentity(facts) && found.nlink <= facts.nlink;
    // Another file has replaced the chosen one, and may be a note under a second name.
    if (!found.isFile() || (!isChosen && (found.nlink > 1n || (await identitiesIn(closed)).has(fileIdentity(found)))))
      throw new ChangedMeanwhile();
    await copyOpen(file, draft);
    await utimes(draft, found.atime, found.mtime);
    return found;
  } finally {
    await file.close();
  }
}

/** Version of a file, which changes with its content, its mode and its identity. */
const versionOf = ({ dev, ino, size, mode, ctimeNs }: BigIntStats): string => [dev, ino, size, mode, ctimeNs].join(":");

function noteOf(tooMuch: readonly string[], failed: readonly string[]): string | undefined {
  const named = (paths: readonly string[]): string => {
    const more = paths.length > MOST_NAMED ? `, and ${paths.length - MOST_NAMED} more` : "";
    return `${paths.slice(0, MOST_NAMED).map(listedName).join(", ")}${more}`;
  };
  const texts = [
    tooMuch.length === 0
      ? ""
      : `The command saw only a part of the workspace, ${MOST_ENTRIES} entries and ${MOST_MB} MB at most. Not there: ${named(tooMuch)}.`,
    failed.length === 0 ? "" : `Files of the workspace that could not be copied for the command: ${named(failed)}.`,
  ].filter((text) => text !== "");
  return texts.length === 0 ? undefined : texts.join(" ");
}
