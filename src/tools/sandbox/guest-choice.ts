import type { BigIntStats } from "node:fs";
import { lstat, readdir } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import { errorCode, unlessMissing } from "../../utils/missing.ts";
import { isInside, realOf } from "../../utils/real-path.ts";
import { hiddenByName, isRepository } from "../host/guest-files.ts";
import { ChangedMeanwhile, OpenFolder } from "../host/open.ts";

/** Facts that decide which files of a workspace a guest's command may see. */
export interface Choosing {
  /** Path without links. */
  readonly workspace: string;
  /** Workspaces of all agents: one may lie in another. */
  readonly workspaces: readonly string[];
  /** Files and directories with notes of private chats. */
  readonly notes: readonly string[];
  /**
   * Further paths that no guest sees, with their content: the gateway's own files, and files of other conversations.
   */
  readonly closed: readonly string[];
}

/** A file, link or directory of a workspace that guests may see. */
export interface Chosen {
  /** Path relative to the workspace. */
  readonly path: string;
  readonly kind: "directory" | "file" | "link";
  readonly facts: BigIntStats;
}

export interface GuestChoice {
  /** Each directory comes before its content. */
  readonly chosen: readonly Chosen[];
  /** Paths that guests could see if the workspace were smaller; of a directory, only its own path. */
  readonly tooMuch: readonly string[];
}

/** Most entries of a choice, and most bytes of its files. */
export const MOST_ENTRIES = 20_000;
export const MOST_MB = 512;
/**
 * Bytes of the longest path in a workspace that is copied: the copy's own directory comes before the path, and no
 * system takes more than 4096.
 */
const MOST_PATH = 3000;
const AT_ONCE = 32;
/** Directories that are looked at after all others: large, with content that a registry has too. */
const LAST = new Set(["node_modules"]);

/** Chooses among the workspace's present entries. */
export async function choose(choosing: Choosing): Promise<GuestChoice> {
  const { workspace, workspaces, notes, closed } = choosing;
  const [roots, shut] = await Promise.all([
    Promise.all(workspaces.map(realOf)),
    Promise.all([...notes, ...closed].map(realOf)),
  ]);
  const chooser = new Chooser(workspace, {
    roots: [...new Set([workspace, ...roots.filter((root) => isInside(root, workspace))])],
    closed: new Set(shut),
  });
  await chooser.walk();
  return chooser.choice([...notes, ...closed]);
}

interface Seen {
  readonly name: string;
  readonly path: string;
  readonly kind: Chosen["kind"];
  readonly facts: BigIntStats;
}

class Chooser {
  readonly #workspace: string;
  readonly #roots: readonly string[];
  readonly #closed: ReadonlySet<string>;
  readonly #chosen: Chosen[] = [];
  readonly #tooMuch: string[] = [];
  /** Absolute paths of found entries that no guest sees. */
  readonly #hidden: string[] = [];
  #bytesLeft = BigInt(MOST_MB) * 1_048_576n;

  constructor(
    workspace: string,
    { roots, closed }: { readonly roots: readonly string[]; readonly closed: ReadonlySet<string> },
  ) {
    this.#workspace = workspace;
    this.#roots = roots;
    this.#closed = closed;
  }

  /** Walks the workspace. Directories near the top come first, in the order of their names. */
  async walk(): Promise<void> {
    const later: Chosen[] = [];
    let level: readonly (Chosen | undefined)[] = [undefined];
    while (level.length > 0) {
      const next: Chosen[] = [];
      for (let at = 0; at < level.length; at += AT_ONCE) {
        const some = level.slice(at, at + AT_ONCE);
        const found = await Promise.all(some.map((dir) => this.#entries(dir?.path ?? "")));
        found.forEach((entries, index) => this.#take(some[index], entries, { next, later }));
      }
      level = next.length > 0 ? next : later.splice(0);
    }
  }

  /** The choice, without files that are, under a second name, closed to guests. `closed` are paths. */
  async choice(closed: readonly string[]): Promise<GuestChoice> {
    const hasNames = ({ kind, facts }: Chosen): boolean => kind === "file" && facts.nlink > 1n;
    if (!this.#chosen.some(hasNames)) return { chosen: this.#chosen, tooMuch: this.#tooMuch };
    const known = await identitiesIn([...closed, ...this.#hidden]);
    const chosen = this.#chosen.filter((one) => !hasNames(one) || !known.has(fileIdentity(one.facts)));
    return { chosen, tooMuch: this.#tooMuch };
  }

  #take(
    dir: Chosen | undefined,
    entries: readonly Seen[] | undefined,
    { next, later }: { readonly next: Chosen[]; readonly later: Chosen[] },
  ): void {
    // The directory is a repository, or may not be read.
    if (entries === undefined) return;
    if (dir) this.#add(dir);
    for (const { name, ...entry } of entries) {
      if (Buffer.byteLength(entry.path) > MOST_PATH) this.#tooMuch.push(entry.path);
      else if (entry.kind === "directory") (LAST.has(name) ? later : next).push(entry);
      else this.#add(entry);
    }
  }

  #add(entry: Chosen): void {
    const size = entry.kind === "file" ? entry.facts.size : 0n;
    if (this.#chosen.length >= MOST_ENTRIES || size > this.#bytesLeft) {
      this.#tooMuch.push(entry.path);
      return;
    }
    this.#bytesLeft -= size;
    this.#chosen.push(entry);
  }

  /** Entries of a directory that guests may see. Undefined when the directory holds a repository, or cannot be read. */
  async #entries(dir: string): Promise<readonly Seen[] | undefined> {
    if (this.#chosen.length >= MOST_ENTRIES) return [];
    const path = join(this.#workspace, dir);
    const folder = await opened(path);
    try {
      // A program may put a link in the directory's place, which would lead out of the workspace.
      const names = folder?.path === path ? await readdir(folder.base) : undefined;
      if (!folder || !names) return undefined;
      const all = new Set(names);
      if (isRepository((name) => all.has(name))) {
        this.#hidden.push(path);
        return undefined;
      }
      return await this.#look(
        folder,
        names.filter((name) => this.#isOpen(join(path, name))),
      );
    } finally {
      await folder?.close();
    }
  }

  async #look(folder: OpenFolder, names: readonly string[]): Promise<readonly Seen[]> {
    const dir = relative(this.#workspace, folder.path);
    if (names.length > MOST_ENTRIES) this.#tooMuch.push(dir);
    const some = names.toSorted().slice(0, MOST_ENTRIES);
    const seen: Seen[] = [];
    for (let at = 0; at < some.length; at += AT_ONCE)
      seen.push(...(await Promise.all(some.slice(at, at + AT_ONCE).map((name) => lookAt(folder, name, dir)))).flat());
    return seen;
  }

  #isOpen(path: string): boolean {
    if (this.#closed.has(path)) return false;
    for (const root of this.#roots) {
      if (path === root || !isInside(path, root)) continue;
      if (hiddenByName(relative(root, path).split(sep)) === undefined) continue;
      this.#hidden.push(path);
      return false;
    }
    return true;
  }
}

/** An entry with its kind; none for an entry that is no file, link or directory, or has been removed. */
async function lookAt(folder: OpenFolder, name: string, dir: string): Promise<readonly Seen[]> {
  const facts = await lstat(folder.at(name), { bigint: true }).catch(() => undefined);
  const kind = facts && kindOf(facts);
  return kind ? [{ name, path: join(dir, name), kind, facts }] : [];
}

function kindOf(facts: BigIntStats): Chosen["kind"] | undefined {
  if (facts.isDirectory()) return "directory";
  if (facts.isSymbolicLink()) return "link";
  // Opening a named pipe waits, and a socket leads out of the sandbox.
  return facts.isFile() ? "file" : undefined;
}

async function opened(path: string): Promise<OpenFolder | undefined> {
  try {
    return await OpenFolder.open(path);
  } catch (error) {
    const code = errorCode(error);
    // The directory was removed meanwhile, is something else now, or belongs to another user.
    if (error instanceof ChangedMeanwhile || code === "ENOENT" || code === "ENOTDIR") return undefined;
    if (code === "EACCES" || code === "EPERM") return undefined;
    throw error;
  }
}

/** Device and inode, which identify a file under any name. */
export const fileIdentity = ({ dev, ino }: Pick<BigIntStats, "dev" | "ino">): string => `${dev}:${ino}`;

/** Identities of the files at these paths, and below them. Does not follow links. */
export async function identitiesIn(paths: readonly string[]): Promise<ReadonlySet<string>> {
  const found = new Set<string>();
  let level = [...paths];
  while (level.length > 0) {
    const some = level.slice(0, AT_ONCE);
    const inside = await Promise.all(
      some.map(async (path) => {
        const facts = await unlessMissing(lstat(path, { bigint: true })).catch(() => undefined);
        if (facts?.isDirectory() === true) return (await readdir(path).catch(() => [])).map((name) => join(path, name));
        if (facts) found.add(fileIdentity(facts));
        return [];
      }),
    );
    level = [...level.slice(AT_ONCE), ...inside.flat()];
  }
  return found;
}
