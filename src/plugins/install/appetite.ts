import { execFile, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readFile, statfs } from "node:fs/promises";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";

const MB = 1_048_576;
/** What a program that fetches plugins may take. npm keeps a whole archive in memory, a few times. */
const MOST_MEMORY = 1536 * MB;
const MOST_DISK = 4096 * MB;
const LOOK_EVERY_MS = 250;

/**
 * Ends a program that takes too much memory, or since when the disk of its folder has lost too much space: an answer of a server
 * may have no end. Resolves when the program has ended, with why it was ended; undefined when it was not.
 */
export async function endIfGreedy(child: ChildProcess, folder: string): Promise<string | undefined> {
  const { pid } = child;
  // It could not be started.
  if (pid === undefined) return undefined;
  const ended = once(child, "exit");
  const freeBefore = await freeIn(folder);
  for (;;) {
    await Promise.race([ended, pause(LOOK_EVERY_MS)]);
    if (child.exitCode !== null || child.signalCode !== null) return undefined;
    const [memory, free] = await Promise.all([memoryOf(pid), freeIn(folder)]);
    const why = greed(memory, freeBefore - free);
    if (why === undefined) continue;
    child.kill("SIGKILL");
    return why;
  }
}

function greed(memory: number, disk: number): string | undefined {
  if (memory > MOST_MEMORY) return `it took more than ${MOST_MEMORY / MB} MB of memory: what it was given is too large`;
  if (disk > MOST_DISK)
    return `the disk has lost more than ${MOST_DISK / MB} MB meanwhile: what it was given is too large`;
  return undefined;
}

/** Bytes of memory that a process uses; 0 where that cannot be found out. */
async function memoryOf(pid: number): Promise<number> {
  if (process.platform === "win32") return 0;
  try {
    if (process.platform === "linux") {
      const status = await readFile(`/proc/${pid}/status`, "utf8");
      return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) * 1024;
    }
    const { stdout } = await promisify(execFile)("ps", ["-o", "rss=", "-p", String(pid)]);
    return Number(stdout.trim()) * 1024 || 0;
  } catch {
    // It has ended, or there is no such program.
    return 0;
  }
}

/** Free bytes of the disk of a folder; NaN where that cannot be found out. */
async function freeIn(folder: string): Promise<number> {
  try {
    const { bavail, bsize } = await statfs(folder);
    return bavail * bsize;
  } catch {
    // The time limit of the program remains.
    return Number.NaN;
  }
}
