import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";

const run = promisify(execFile);
// Field 22 of /proc/<pid>/stat, counted after the command's closing bracket (field 2).
const START_FIELD = 19;

// Processes that the kernel still lists but never runs again: a zombie that its parent has not reaped, and one that is ending.
const ENDED_STATES = ["Z", "X", "x"];

/**
 * When a process began, as a word that another process of the same id does not share; undefined when none has the id, or when
 * the one that has it has ended and was only not reaped yet.
 */
export async function processStart(pid: number): Promise<string | undefined> {
  if (!isListed(pid)) return undefined;
  const found = (await fromProc(pid)) ?? (await fromPs(pid)) ?? { start: "unknown" };
  return ENDED_STATES.includes(found.state ?? "") ? undefined : found.start;
}

interface Found {
  readonly start: string;
  /** One letter as in `ps`. */
  readonly state?: string | undefined;
}

function isListed(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // Somebody else's process: there, but not ours to signal.
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
    // No procfs here; the caller asks `ps`.
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
    // No `ps` either: the process id alone must do.
    return undefined;
  }
}
