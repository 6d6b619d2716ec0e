import { readdir, readFile } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import type { LeftRunning } from "../../types/run/backend.ts";

/** The variable that every process of a command inherits; each command has another value. */
export const MARK = "OPENCLAW_EXEC_ID";

const PROCESSES = "/proc";
const COMMAND_CHARS = 80;
const ROUNDS = 5;
const ROUND_MS = 50;

/**
 * The processes with a command's mark in their environment, even in another process group (`setsid`). Cannot find one that
 * was started with an empty environment, and finds none outside Linux. Never rejects.
 */
export async function leftRunning(mark: string): Promise<readonly LeftRunning[]> {
  if (process.platform !== "linux") return [];
  const names = await readdir(PROCESSES).catch(() => []);
  const pids = names.filter((name) => /^\d+$/.test(name));
  const found = await Promise.all(pids.map((pid) => probe(pid, `${MARK}=${mark}\0`)));
  return found.filter((one) => one !== undefined);
}

async function probe(pid: string, mark: string): Promise<LeftRunning | undefined> {
  try {
    const environment = await readFile(`${PROCESSES}/${pid}/environ`);
    if (!environment.includes(mark)) return undefined;
    const words = (await readFile(`${PROCESSES}/${pid}/cmdline`, "utf8")).split("\0").join(" ").trim();
    return { pid: Number(pid), command: words.replaceAll(/\p{Cc}/gu, " ").slice(0, COMMAND_CHARS) };
  } catch {
    // It has ended meanwhile, or belongs to another user.
    return undefined;
  }
}

/** Kills the processes with the mark and those that they start meanwhile. Resolves with the ones that survive. Never rejects. */
export async function endRunning(mark: string): Promise<readonly LeftRunning[]> {
  let left = await leftRunning(mark);
  for (let round = 0; left.length > 0 && round < ROUNDS; round += 1) {
    left.forEach(({ pid }) => end(pid));
    await delay(ROUND_MS);
    left = await leftRunning(mark);
  }
  return left;
}

function end(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended by itself, or runs as another user and is reported as left.
  }
}
