import { hash } from "node:crypto";
import { mkdir, readdir, readFile, rm, stat, utimes, writeFile, lstat, rename, rmdir, unlink } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import type { SandboxSettings } from "../../types/sandbox.ts";
import { BoundedMap } from "../../utils/bounded-map.ts";
import { errorCode, unlessMissing } from "../../utils/missing.ts";
import { OpenFolder } from "../host/open.ts";
import { bytePathOf, bytesOf, entriesOf, makeUsable, pathIn, type BytePath } from "./byte-path.ts";

/** Agent and session of a sandbox. */
export interface SandboxOwner {
  readonly agentId: string;
  readonly sessionKey: string;
}

/** A sandbox's own folder, which its commands may write. */
export interface SandboxFolder {
  readonly path: string;
  readonly scope: SandboxSettings["scope"];
  readonly agent?: string | undefined;
  readonly session?: string | undefined;
  /** Epoch milliseconds. */
  readonly madeAt: number;
  readonly usedAt: number;
}

const record = z.object({
  scope: z.enum(["session", "agent", "shared"]),
  agent: z.string().optional(),
  session: z.string().optional(),
  madeAt: z.number(),
});

type Place = Pick<SandboxSettings, "scope" | "workspaceRoot">;

/** The folder for a session's commands. Pure. */
export const folderOf = ({ scope, workspaceRoot }: Place, owner: SandboxOwner): string =>
  join(workspaceRoot, nameOf(scope, owner));

function nameOf(scope: SandboxSettings["scope"], { agentId, sessionKey }: SandboxOwner): string {
  if (scope === "shared") return "shared";
  const plain = (text: string) => text.replaceAll(/[^a-zA-Z0-9_-]+/g, "-").slice(0, 40);
  if (scope === "agent") return `agent-${plain(agentId)}`;
  return sessionName(`${agentId}\0${sessionKey}`, () => plain(sessionKey));
}

/** Most names of sessions' folders in memory: a run asks for its name several times. */
const MOST_NAMES = 1000;
const names = new BoundedMap<string, string>(MOST_NAMES);

const sessionName = (owner: string, plain: () => string): string =>
  names.of(owner, () => `session-${plain()}-${hash("sha256", owner).slice(0, 12)}`);

/**
 * The folder's record, which lies beside the folder, where its commands cannot write. Its time of change is that of the
 * last use.
 */
const recordOf = (folder: string): string => `${folder}.json`;

/** Makes the folder if it is missing, and notes its use. */
export async function openFolder(place: Place, owner: SandboxOwner, now: number): Promise<string> {
  const folder = folderOf(place, owner);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const whose = {
    ...(place.scope !== "shared" && { agent: owner.agentId }),
    ...(place.scope === "session" && { session: owner.sessionKey }),
  };
  const text = JSON.stringify({ scope: place.scope, ...whose, madeAt: now });
  try {
    await writeFile(recordOf(folder), `${text}\n`, { flag: "wx", mode: 0o600 });
  } catch (error) {
    if (errorCode(error) !== "EEXIST") throw error;
    await utimes(recordOf(folder), now / 1000, now / 1000);
  }
  return folder;
}

/** The sandboxes' folders below a root, in the order of their names. A record that cannot be read is left out. */
export async function listFolders(root: string): Promise<readonly SandboxFolder[]> {
  const names = (await unlessMissing(readdir(root))) ?? [];
  const records = names.filter((name) => name.endsWith(".json")).toSorted();
  const found = await Promise.all(records.map((name) => readRecord(join(root, name))));
  return found.filter((folder) => folder !== undefined);
}

async function readRecord(path: string): Promise<SandboxFolder | undefined> {
  try {
    const { mtimeMs } = await stat(path);
    return {
      path: path.slice(0, -".json".length),
      ...record.parse(JSON.parse(await readFile(path, "utf8"))),
      usedAt: mtimeMs,
    };
  } catch {
    // The file belongs to another program, or was removed meanwhile.
    return undefined;
  }
}

/** Removes a folder with its content. The next command of its sessions begins with an empty one. */
export async function removeFolder({ path }: Pick<SandboxFolder, "path">): Promise<void> {
  await removeTree(path);
  await rm(recordOf(path), { force: true });
}

const HOUR_MS = 3_600_000;
/** Milliseconds since its last use in which a folder may be in use. */
const IN_USE_MS = HOUR_MS;

/** Removes the folders that are unused or old, by the settings; resolves with their number. */
export async function pruneFolders(
  root: string,
  { idleHours, maxAgeDays }: SandboxSettings["prune"],
  now: number,
): Promise<number> {
  const isPast = (since: number, ms: number) => ms > 0 && now - since >= ms;
  const folders = await listFolders(root);
  const old = folders.filter(
    ({ madeAt, usedAt }) =>
      isPast(usedAt, idleHours * HOUR_MS) || (isPast(madeAt, maxAgeDays * 24 * HOUR_MS) && isPast(usedAt, IN_USE_MS)),
  );
  for (const folder of old) await removeFolder(folder);
  return old.length;
}

/** Number of times that a program which still runs may add an entry to a directory that was just emptied. */
const MOST_REFUSED = 100;

/**
 * Removes a file, or a directory with its content, whatever a program made there: directories too deep for a path,
 * names that are not UTF-8, directories without rights. Follows no link, even if a program that still runs puts one
 * into the path. Does nothing when the path is free.
 */
async function removeTree(path: string): Promise<void> {
  // The directories of all levels are moved side by side into a directory of the gateway, so each has a short path.
  const removed = `${path}.removed`;
  await mkdir(removed, { recursive: true, mode: 0o700 });
  const work = new Removal(bytePathOf(removed));
  await work.take(bytePathOf(path));
  await work.finish();
}

class Removal {
  readonly #place: BytePath;
  #last = 0;
  #refused = 0;

  constructor(place: BytePath) {
    this.#place = place;
  }

  /** Moves a file or directory into the place. */
  async take(path: BytePath): Promise<void> {
    const to = bytesOf(await this.#free());
    const move = () => unlessMissing(rename(bytesOf(path), to));
    await move().catch(async (error: unknown) => {
      if (errorCode(error) !== "EACCES") throw error;
      // A directory with another parent is itself written, so the user needs the right to write it.
      await makeUsable(path);
      await move();
    });
  }

  /** Removes all entries of the place, also those of an interrupted removal, and the place itself. */
  async finish(): Promise<void> {
    for (;;) {
      const entries = await entriesOf(this.#place);
      if (entries.length === 0) break;
      for (const { name, isDirectory } of entries) {
        const path = pathIn(this.#place, name);
        if (isDirectory) await this.#removeDirectory(path);
        else await unlessMissing(unlink(bytesOf(path)));
      }
    }
    await rmdir(bytesOf(this.#place));
  }

  async #removeDirectory(path: BytePath): Promise<void> {
    await this.#empty(path);
    await rmdir(bytesOf(path)).catch((error: unknown) => {
      this.#refused += 1;
      if (errorCode(error) !== "ENOTEMPTY" || this.#refused > MOST_REFUSED) throw error;
    });
  }

  async #empty(path: BytePath): Promise<void> {
    await makeUsable(path);
    const folder = await OpenFolder.open(bytesOf(path));
    try {
      const base = bytePathOf(folder.base);
      for (const { name, isDirectory } of await entriesOf(base)) {
        if (isDirectory) await this.take(pathIn(base, name));
        else await unlessMissing(unlink(bytesOf(pathIn(base, name))));
      }
    } finally {
      await folder.close();
    }
  }

  async #free(): Promise<BytePath> {
    for (;;) {
      this.#last += 1;
      const path = pathIn(this.#place, String(this.#last));
      if ((await unlessMissing(lstat(bytesOf(path)))) === undefined) return path;
    }
  }
}
