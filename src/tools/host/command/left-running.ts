import { createHash, randomUUID } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import type { LeftRunning } from "../../../types/run/backend.ts";

/** Variable that every process of a command inherits; each command has another value. */
export const MARK = "OPENCLAW_EXEC_ID";

const PROCESSES = "/proc";
const COMMAND_CHARS = 80;
const ROUNDS = 5;
const ROUND_MS = 50;

/** Part of the marks of this process's commands; those of an earlier process have another one. */
const BOOT = randomUUID();

/** The beginning of the marks of all commands of a gateway, for each of its processes. */
const ownerOf = (stateDir: string): string => createHash("sha256").update(stateDir).digest("hex").slice(0, 16);

/** A new mark; with a state directory, a mark that `endLeftBehind` recognises. */
export const newMark = (stateDir?: string): string =>
  `${stateDir === undefined ? "" : `${ownerOf(stateDir)}.${BOOT}.`}${randomUUID()}`;

/**
 * Ends the commands that an earlier process of this gateway could not end, because it was killed. The caller holds the
 * lock of the state directory. Returns the found commands; none outside Linux. Never rejects.
 */
export async function endLeftBehind(stateDir: string): Promise<readonly LeftRunning[]> {
  const own = `${ownerOf(stateDir)}.`;
  const above = await ancestors();
  const isLeft = (mark: string, pid: number) =>
    mark.startsWith(own) && !mark.startsWith(`${own}${BOOT}.`) && !above.has(pid);
  const found = await marked(isLeft);
  await endAll(found, () => marked(isLeft));
  return found;
}

/** This process and its ancestors: an agent's command may have started this gateway. */
async function ancestors(): Promise<ReadonlySet<number>> {
  const pids = new Set<number>();
  for (let pid = process.pid; pid > 1 && !pids.has(pid);) {
    pids.add(pid);
    const status = await readFile(`${PROCESSES}/${pid}/status`, "utf8").catch(() => "");
    pid = Number(/^PPid:\s*(\d+)/m.exec(status)?.[1] ?? 0);
  }
  return pids;
}

/**
 * The processes with a command's mark in their environment, even in another process group (`setsid`). Cannot find a
 * process that was started with an empty environment, and finds none outside Linux. Never rejects. Processes that ran
 * `before` the command are not looked at: reading the environment of every process takes longer than starting a
 * command.
 */
export const leftRunning = (mark: string, before?: ReadonlySet<number>): Promise<readonly LeftRunning[]> =>
  marked((one) => one === mark, before);

/** The ids of all processes; none outside Linux. Never rejects. */
export async function processIds(): Promise<ReadonlySet<number>> {
  if (process.platform !== "linux") return new Set();
  const names = await readdir(PROCESSES).catch(() => []);
  return new Set(names.filter((name) => /^\d+$/.test(name)).map(Number));
}

async function marked(
  isWanted: (mark: string, pid: number) => boolean,
  before: ReadonlySet<number> = new Set(),
): Promise<readonly LeftRunning[]> {
  const pids = [...(await processIds())].filter((pid) => !before.has(pid));
  const found = await Promise.all(pids.map((pid) => probe(pid, isWanted)));
  return found.filter((one) => one !== undefined);
}

async function probe(pid: number, isWanted: (mark: string, pid: number) => boolean): Promise<LeftRunning | undefined> {
  try {
    const environment = await readFile(`${PROCESSES}/${pid}/environ`);
    const mark = markIn(environment);
    if (mark === undefined || !isWanted(mark, pid)) return undefined;
    const words = (await readFile(`${PROCESSES}/${pid}/cmdline`, "utf8")).split("\0").join(" ").trim();
    return { pid, command: words.replaceAll(/\p{Cc}/gu, " ").slice(0, COMMAND_CHARS) };
  } catch {
    // The process has ended meanwhile, or belongs to another user.
    return undefined;
  }
}

function markIn(environment: Buffer): string | undefined {
  const name = `${MARK}=`;
  const at = environment.indexOf(name);
  if (at < 0 || (at > 0 && environment[at - 1] !== 0)) return undefined;
  const end = environment.indexOf(0, at);
  return environment.toString("latin1", at + name.length, end < 0 ? undefined : end);
}

/**
 * Kills the processes with the mark, and processes that they start meanwhile. Resolves with the survivors. Never
 * rejects.
 */
export async function endRunning(mark: string): Promise<readonly LeftRunning[]> {
  return endAll(await leftRunning(mark), () => leftRunning(mark));
}

async function endAll(
  found: readonly LeftRunning[],
  look: () => Promise<readonly LeftRunning[]>,
): Promise<readonly LeftRunning[]> {
  let left = found;
  for (let round = 0; left.length > 0 && round < ROUNDS; round += 1) {
    left.forEach(({ pid }) => end(pid));
    await delay(ROUND_MS);
    left = await look();
  }
  return left;
}

function end(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // The process has ended by itself, or runs as another user and is reported as left.
  }
}
