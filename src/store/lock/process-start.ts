import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";

const run = promisify(execFile);
// Field 22 of /proc/<pid>/stat, counted from the closing bracket of the command (field 2).
const START_FIELD = 19;

// States of processes that the kernel lists but never runs again: a zombie that its parent has not reaped, and one that is
// ending.
const ENDED_STATES = ["Z", "X", "x"];

/**
 * A text that identifies the start of a process, so that a later process with the same id has another one. Undefined when no
 * process has the id, or when it has ended and was not reaped yet.
 */
export async function processStart(pid: number): Promise<string | undefined> {
  if (!isListed(pid)) return undefined;
  const found = (await fromProc(pid)) ?? (await fromPs(pid));
  // A process that ended in the meantime is found nowhere, as on a system that has neither procfs nor `ps`.
  if (!found) return isListed(pid) ? "unknown" : undefined;
  return ENDED_STATES.includes(found.state ?? "") ? undefined : found.start;
}

interface Found {
  readonly start: string;
  /** The state as one letter, as in `ps`. */
  readonly state?: string | undefined;
}

function isListed(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // Another user's process exists, but it cannot be signalled.
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}

async function fromProc(pid: number): Promise<Found | undefined> {
  try {
    const [stat, boot] = await Promise.all([
      readFile(`/proc/${pid}/stat`, "utf8"),
      readFile("/proc/sys/kernel/random/boot_id", "utf8"),
    ]);
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const ticks = fields[START_FIELD];
    return ticks === undefined ? undefined : { start: `${boot.trim()}/${ticks}`, state: fields[0] };
  } catch {
    // No procfs on this system: the caller asks `ps`.
    return undefined;
  }
}

async function fromPs(pid: number): Promise<Found | undefined> {
  try {
    const env = { ...process.env, LC_ALL: "C" };
    const { stdout } = await run("ps", ["-o", "stat=", "-o", "lstart=", "-p", String(pid)], { env });
    const [, state, start] = /^(\S)\S*\s+(.+)$/.exec(stdout.trim()) ?? [];
    return start === undefined ? undefined : { start, state };
  } catch {
    // No `ps` either: only the process id is compared.
    return undefined;
  }
}
