import { spawn } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";

/** Milliseconds in which a group may end by itself after SIGTERM. */
const GRACE_MS = 1000;
const FIRST_LOOK_MS = 10;

/**
 * Sends a signal to each process of a group; 0 only checks that the group has a process. False when the group is empty.
 */
function signal(pid: number, name: NodeJS.Signals | 0): boolean {
  try {
    process.kill(-pid, name);
    return true;
  } catch (error) {
    // Processes of another user exist, but get no signal of ours.
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}

/** Whether any process of the group still runs; on Windows, which has no groups, false. Never rejects. */
export async function hasGroup(pid: number): Promise<boolean> {
  if (process.platform === "win32" || !signal(pid, 0)) return false;
  // A process that has ended stays in its group until its exit code is read, which may never happen in a container.
  return process.platform !== "linux" || hasRunning(pid);
}

async function hasRunning(group: number): Promise<boolean> {
  const names = await readdir("/proc").catch(() => []);
  const pids = names.filter((name) => /^\d+$/.test(name));
  const found = await Promise.all(pids.map((pid) => runsIn(group, pid)));
  return found.includes(true);
}

/**
 * Whether a process runs in the group. In its `stat` the program's name is in parentheses and may have any characters;
 * state, parent and group follow.
 */
async function runsIn(group: number, pid: string): Promise<boolean> {
  const stat = await readFile(`/proc/${pid}/stat`, "latin1").catch(() => "");
  const [state = "Z", , ofGroup] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return Number(ofGroup) === group && !"ZX".includes(state);
}

/** Ends every process of a group: SIGTERM, and SIGKILL for processes that still exist after a second. */
export async function endGroup(pid: number): Promise<void> {
  if (process.platform === "win32") {
    spawn("taskkill", ["/pid", String(pid), "/T", "/F"], { stdio: "ignore" }).on("error", () => undefined);
    return;
  }
  signal(pid, "SIGTERM");
  // A stopped process gets the signal only when it continues.
  signal(pid, "SIGCONT");
  const end = performance.now() + GRACE_MS;
  for (let waitMs = FIRST_LOOK_MS; performance.now() < end && (await hasGroup(pid)); waitMs *= 2)
    await delay(Math.min(waitMs, Math.max(1, end - performance.now())));
  signal(pid, "SIGKILL");
}
