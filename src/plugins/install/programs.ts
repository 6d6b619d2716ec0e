import { execFile, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readFile, statfs } from "node:fs/promises";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";
import { diskFull } from "../../store/disk.ts";
import { isMissing } from "../../utils/missing.ts";
import { npmEnv, npmErrorText, type Program } from "../../utils/npm.ts";
import { errorText } from "../../utils/text/error-text.ts";
import { shorten } from "../../utils/text/shorten.ts";
import { FETCH_FIXES, notFetched } from "./refusals.ts";

/** The programs that fetch plugins, and their environment. */
export interface Programs {
  readonly npm: Program;
  readonly git: Program;
  readonly env: Readonly<Record<string, string | undefined>>;
}

const WITHIN_MS = 10 * 60_000;
const MOST_OUTPUT = 50 * 1_048_576;
const MOST_SHOWN = 600;

const QUIET = ["--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error", "--no-global", "--no-dry-run"];

/** Runs npm in a folder and returns its output. Throws `PLUGIN_FETCH` with `what`, the beginning of a sentence. */
export async function runNpm(programs: Programs, args: readonly string[], at: Place): Promise<string> {
  const [command, ...first] = programs.npm;
  try {
    return await run(command, [...first, ...args, ...QUIET], { cwd: at.cwd, env: npmEnv(programs.env) });
  } catch (cause) {
    if (isMissing(cause)) throw notFetched(`${at.what}: there is no npm on this machine.`, cause, FETCH_FIXES.noNpm);
    const text = npmErrorText(cause);
    if (/^code (?:ENOSPC|EDQUOT)\b/.test(text)) throw diskFull(at.cwd, cause);
    throw notFetched(`${at.what}: ${shorten(text, MOST_SHOWN)}`, cause);
  }
}

/** Asks for no password, runs no hook, and takes no address that would start another program. */
const GIT_ENV = { GIT_TERMINAL_PROMPT: "0", GIT_ALLOW_PROTOCOL: "https:http:ssh:git:file", GIT_ASKPASS: "" };
const GIT_SETTINGS = [
  "-c",
  "core.hooksPath=/dev/null",
  "-c",
  "core.fsmonitor=false",
  "-c",
  "advice.detachedHead=false",
];
const GIT_KEPT = /^(?:SSH_AUTH_SOCK|GIT_SSH(?:_COMMAND)?|GIT_CONFIG_\w+|XDG_CONFIG_HOME)$/;

/** The same with git. */
export async function runGit(programs: Programs, args: readonly string[], at: Place): Promise<string> {
  const [command, ...first] = programs.git;
  const kept = Object.fromEntries(Object.entries(programs.env).filter(([name]) => GIT_KEPT.test(name)));
  const env = { ...npmEnv(programs.env), ...kept, ...GIT_ENV };
  try {
    return await run(command, [...first, ...GIT_SETTINGS, ...args], { cwd: at.cwd, env });
  } catch (cause) {
    if (isMissing(cause)) throw notFetched(`${at.what}: there is no git on this machine.`, cause, FETCH_FIXES.noGit);
    throw notFetched(`${at.what}: ${shorten(errorText(cause), MOST_SHOWN)}`, cause, FETCH_FIXES.git);
  }
}

interface Place {
  readonly cwd: string;
  /** The beginning of the error's sentence. */
  readonly what: string;
}

async function run(
  command: string,
  args: readonly string[],
  options: { cwd: string; env: Record<string, string | undefined> },
): Promise<string> {
  const limits = { timeout: WITHIN_MS, maxBuffer: MOST_OUTPUT, windowsHide: true };
  const running = promisify(execFile)(command, args, { ...options, ...limits });
  const greedy = endIfGreedy(running.child, options.cwd);
  try {
    return (await running).stdout;
  } catch (error) {
    const why = await greedy;
    throw why === undefined ? error : new Error(why, { cause: error });
  }
}

const MB = 1_048_576;
/** Limits for a program that fetches plugins. npm keeps a whole archive in memory, a few times. */
const MOST_MEMORY = 1536 * MB;
const MOST_DISK = 4096 * MB;
const LOOK_EVERY_MS = 250;

/**
 * Ends a program that takes too much memory, or since when the disk of its folder has lost too much space: an answer of a server
 * may have no end. Resolves when the program has ended, with why it was ended; undefined when it was not.
 */
async function endIfGreedy(child: ChildProcess, folder: string): Promise<string | undefined> {
  const { pid } = child;
  // The program could not be started.
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
    // The process has ended, or there is no program `ps`.
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
