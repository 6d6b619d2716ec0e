import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";

const run = promisify(execFile);
// Field 22 of /proc/<pid>/stat, counted after the command's closing bracket (field 2).
const START_FIELD = 19;

/** When a process began, as a word that another process of the same id does not share; undefined when none has the id. */
export async function processStart(pid: number): Promise<string | undefined> {
  if (!isAlive(pid)) return undefined;
  return (await fromProc(pid)) ?? (await fromPs(pid)) ?? "unknown";
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // Somebody else's process: there, but not ours to signal.
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}

async function fromProc(pid: number): Promise<string | undefined> {
  try {
    const [stat, boot] = await Promise.all([
      readFile(`/proc/${pid}/stat`, "utf8"),
      readFile("/proc/sys/kernel/random/boot_id", "utf8"),
    ]);
    const ticks = stat.slice(stat.lastIndexOf(")") + 2).split(" ")[START_FIELD];
    return ticks === undefined ? undefined : `${boot.trim()}/${ticks}`;
  } catch {
    // No procfs here; the caller asks `ps`.
    return undefined;
  }
}

async function fromPs(pid: number): Promise<string | undefined> {
  try {
    const { stdout } = await run("ps", ["-o", "lstart=", "-p", String(pid)], { env: { ...process.env, LC_ALL: "C" } });
    return stdout.trim() || undefined;
  } catch {
    // No `ps` either: the process id alone must do.
    return undefined;
  }
}
