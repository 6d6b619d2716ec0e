import { readdir, readFile, readlink, stat, statfs } from "node:fs/promises";
import { unlessMissing } from "../../../utils/missing.ts";

const textOf = (path: string): Promise<string> =>
  // The process has ended meanwhile, or this user may not look at it.
  readFile(path, "latin1").catch(() => "");

/**
 * A process and all processes that it started, directly or not, while these run; no more than `most`. Linux only. Never
 * rejects.
 */
export async function treeOf(pid: number, most: number): Promise<readonly number[]> {
  const found = new Set([pid]);
  for (let level: readonly number[] = [pid]; level.length > 0 && found.size < most;) {
    const below = (await Promise.all(level.map(childrenOf))).flat();
    level = below.filter((one) => !found.has(one)).slice(0, most - found.size);
    for (const one of level) found.add(one);
  }
  return [...found];
}

async function childrenOf(pid: number): Promise<readonly number[]> {
  const threads = await readdir(`/proc/${pid}/task`).catch(() => []);
  const lists = await Promise.all(threads.map((thread) => textOf(`/proc/${pid}/task/${thread}/children`)));
  return lists.flatMap((list) => list.split(" ").filter((word) => word.trim() !== "")).map(Number);
}

/** Whether this system lists the children of a process. */
export const canListChildren = async (): Promise<boolean> =>
  (await unlessMissing(stat(`/proc/${process.pid}/task/${process.pid}/children`)).catch(() => undefined)) !== undefined;

const kibIn = (text: string, name: string): number | undefined => {
  const found = new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(text)?.[1];
  return found === undefined ? undefined : Number(found);
};

const KIB = 1024;

/** Bytes of memory of processes. Memory that several of them share counts once for each. */
export async function memoryOf(pids: readonly number[]): Promise<number> {
  const each = await Promise.all(
    pids.map(async (pid) => {
      const status = await textOf(`/proc/${pid}/status`);
      return (kibIn(status, "RssAnon") ?? 0) + (kibIn(status, "RssShmem") ?? 0);
    }),
  );
  return each.reduce((sum, kib) => sum + kib, 0) * KIB;
}

/** Bytes of this machine's memory that belong to no process: shared memory, and files in memory. */
export async function sharedOfMachine(): Promise<number> {
  return (kibIn(await textOf("/proc/meminfo"), "Shmem") ?? 0) * KIB;
}

/**
 * As `memoryOf`, but memory that the processes share counts once in all, and their files in memory count too. Memory
 * that is both shared and a file counts once. Takes longer. `memoryDirs`: directories in memory of a sandbox's
 * processes.
 */
export async function wholeMemoryOf(pids: readonly number[], memoryDirs: readonly string[]): Promise<number> {
  const maps = await Promise.all(pids.map((pid) => textOf(`/proc/${pid}/smaps_rollup`)));
  const sum = (name: string) => maps.reduce((total, text) => total + (kibIn(text, name) ?? 0), 0) * KIB;
  const [files, unnamed] = await Promise.all([inMemory(pids, memoryDirs), unnamedBytes(pids, (one) => one.isInMemory)]);
  return sum("Pss_Anon") + Math.max(sum("Pss_Shmem"), files + unnamed);
}

/** Bytes in the directories of a sandbox that are in memory. */
async function inMemory(pids: readonly number[], dirs: readonly string[]): Promise<number> {
  const own = await readlink("/proc/self/ns/mnt").catch(() => "");
  const namespaces = await Promise.all(pids.map((pid) => readlink(`/proc/${pid}/ns/mnt`).catch(() => own)));
  const inside = pids.find((_, at) => namespaces[at] !== own);
  if (inside === undefined) return 0;
  const each = await Promise.all(dirs.map((dir) => statfs(`/proc/${inside}/root${dir}`).catch(() => undefined)));
  return each
    .flatMap((one) => one ?? [])
    .filter(({ type }) => type === TMPFS)
    .reduce((total, { blocks, bfree, bsize }) => total + (blocks - bfree) * bsize, 0);
}

const TMPFS = 0x0102_1994;
const BLOCK = 512;

interface Unnamed {
  readonly dev: number;
  readonly ino: number;
  readonly blocks: number;
  /** True for a file that was made in memory and never had a name. */
  readonly isInMemory: boolean;
}

/** Bytes of open files of processes that have no name any more. */
export async function unnamedBytes(
  pids: readonly number[],
  isWanted: (file: Pick<Unnamed, "dev" | "isInMemory">) => boolean,
): Promise<number> {
  const each = await Promise.all(pids.map(unnamedOf));
  const files = new Map(
    each
      .flat()
      .filter(isWanted)
      .map((one) => [`${one.dev}:${one.ino}`, one]),
  );
  return [...files.values()].reduce((sum, { blocks }) => sum + blocks * BLOCK, 0);
}

async function unnamedOf(pid: number): Promise<readonly Unnamed[]> {
  const open = await readdir(`/proc/${pid}/fd`).catch(() => []);
  const facts = await Promise.all(open.map((name) => unnamedAt(`/proc/${pid}/fd/${name}`)));
  return facts.flatMap((one) => one ?? []);
}

async function unnamedAt(path: string): Promise<Unnamed | undefined> {
  const facts = await stat(path).catch(() => undefined);
  if (facts?.isFile() !== true || facts.nlink > 0) return undefined;
  const name = await readlink(path).catch(() => "");
  return { dev: facts.dev, ino: facts.ino, blocks: facts.blocks, isInMemory: name.startsWith("/memfd:") };
}
