import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { endIfGreedy } from "./appetite.ts";
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
