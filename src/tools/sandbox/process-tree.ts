import { readdir, readFile, stat } from "node:fs/promises";
import { unlessMissing } from "../../utils/missing.ts";

const textOf = (path: string): Promise<string> =>
  // It has ended meanwhile, or this user may not look at it.
  readFile(path, "latin1").catch(() => "");

/** A process and all that it started, directly or not, while these run; no more than `most`. Linux only. Never rejects. */
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

/** Whether this system lists what a process started. */
export const canListChildren = async (): Promise<boolean> =>
  (await unlessMissing(stat(`/proc/${process.pid}/task/${process.pid}/children`)).catch(() => undefined)) !== undefined;

const kibIn = (text: string, name: string): number | undefined => {
  const found = new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(text)?.[1];
  return found === undefined ? undefined : Number(found);
};

const KIB = 1024;

/** Bytes of memory that processes have for themselves. What forked processes share counts once for each. */
export async function memoryOf(pids: readonly number[]): Promise<number> {
  const each = await Promise.all(pids.map(async (pid) => kibIn(await textOf(`/proc/${pid}/status`), "RssAnon") ?? 0));
  return each.reduce((sum, kib) => sum + kib, 0) * KIB;
}

/** The same, where what they share counts once in all. Takes longer. */
export async function ownMemoryOf(pids: readonly number[]): Promise<number> {
  const each = await Promise.all(
    pids.map(async (pid) => {
      const shares = kibIn(await textOf(`/proc/${pid}/smaps_rollup`), "Pss_Anon");
      return shares === undefined ? memoryOf([pid]) : shares * KIB;
    }),
  );
  return each.reduce((sum, bytes) => sum + bytes, 0);
}

const BLOCK = 512;

/** Bytes of the files that processes have open and that have no name any more, on one of these devices. */
export async function unnamedBytes(pids: readonly number[], devices: ReadonlySet<number>): Promise<number> {
  const each = await Promise.all(pids.map(unnamedOf));
  const files = new Map(
    each
      .flat()
      .filter(({ dev }) => devices.has(dev))
      .map((one) => [`${one.dev}:${one.ino}`, one]),
  );
  return [...files.values()].reduce((sum, { blocks }) => sum + blocks * BLOCK, 0);
}

async function unnamedOf(pid: number) {
  const open = await readdir(`/proc/${pid}/fd`).catch(() => []);
  const facts = await Promise.all(open.map((name) => stat(`/proc/${pid}/fd/${name}`).catch(() => undefined)));
  return facts.filter((one) => one?.isFile() === true && one.nlink === 0).flatMap((one) => one ?? []);
}
