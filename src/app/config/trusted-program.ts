import { spawn, type ChildProcessByStdio } from "node:child_process";
import { lstat } from "node:fs/promises";
import { dirname, isAbsolute, relative, sep } from "node:path";
import type { Readable, Writable } from "node:stream";
import { expandHome, type Env } from "../../utils/env.ts";
import { isRecord } from "./schema/problem.ts";

/** A program as the config describes it; the keys are not checked yet. */
export interface TrustedProgram {
  readonly command: string;
  readonly args?: unknown;
  /** Its variables: `env` with their values, `passEnv` with the names of the gateway's. It gets no others. */
  readonly env?: unknown;
  readonly passEnv?: unknown;
  /** Folders in which it may lie; any when unset. */
  readonly trustedDirs?: unknown;
  readonly timeoutMs?: unknown;
  readonly noOutputTimeoutMs?: unknown;
  readonly maxOutputBytes?: unknown;
}

interface Call {
  readonly input: string;
  /** The environment of the gateway. */
  readonly env: Env;
  /** The time that it has when it says nothing of that. */
  readonly timeoutMs: number;
}

/** Bytes of a file or of an output, where the config does not say another number. */
export const MOST_SECRET_BYTES = 1024 * 1024;

/** A failure with a fix of its own. */
export class FaultWithFix extends Error {
  readonly fix: string;

  constructor(message: string, fix: string) {
    super(message);
    this.fix = fix;
  }
}

/**
 * The standard output of a program that reads the input. Throws where others may change the program, and where it fails
 * or does not end within its limits.
 */
export async function outputOfTrusted(
  program: TrustedProgram,
  { input, env, timeoutMs: usual }: Call,
): Promise<string> {
  const file = expandHome(program.command, env);
  await requireTrusted(file, program, env);
  const timeoutMs = countOrElse(program.timeoutMs, usual);
  return outputOf(file, textsIn(program.args), {
    input,
    env: childEnv(program, env),
    timeoutMs,
    silenceMs: countOrElse(program.noOutputTimeoutMs, timeoutMs),
    mostBytes: countOrElse(program.maxOutputBytes, MOST_SECRET_BYTES),
  });
}

/** Throws unless the program is a file that only this user or root can change, where the config allows programs. */
async function requireTrusted(file: string, { trustedDirs }: TrustedProgram, env: Env): Promise<void> {
  if (!isAbsolute(file)) throw new Error("its command is no absolute path");
  const facts = await lstat(file);
  if (!facts.isFile())
    throw new Error("its command is a link, or no file; name the program itself (realpath shows it)");
  const folders = textsIn(trustedDirs).map((folder) => expandHome(folder, env));
  if (folders.length > 0 && !folders.some((folder) => isBelow(dirname(file), folder)))
    throw new Error("its command lies outside trustedDirs");
  if (process.platform === "win32") return;
  if (!isOwnFile(facts.uid) && facts.uid !== 0) throw new Error("its command belongs to another user");
  if ((facts.mode & 0o022) !== 0)
    throw new FaultWithFix("its command can be changed by other users", `Run: chmod go-w ${file}.`);
}

function isBelow(folder: string, root: string): boolean {
  const way = relative(root, folder);
  return way === "" || (way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way));
}

/** The program gets only the variables that the config names. */
function childEnv({ env: given, passEnv }: TrustedProgram, env: Env): Env {
  const passed = textsIn(passEnv).flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]] as const]));
  const own = isRecord(given)
    ? Object.entries(given).flatMap(([name, value]) => (typeof value === "string" ? [[name, value] as const] : []))
    : [];
  return Object.fromEntries([...passed, ...own]);
}

/** Whether a file of this user id belongs to whom this process runs as. */
export const isOwnFile = (uid: number): boolean => uid === process.getuid?.();

interface Limits {
  readonly input: string;
  readonly env: Env;
  readonly timeoutMs: number;
  /** The longest time without output. */
  readonly silenceMs: number;
  readonly mostBytes: number;
}

/** Ends a program and its children, and reads nothing more of them. */
function endGroup(child: ChildProcessByStdio<Writable, Readable, null>): void {
  child.stdout.destroy();
  try {
    if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
  } catch {
    // The group has ended, or the system has none.
    child.kill("SIGKILL");
  }
}

/** The standard output of a program that ends well within its limits. */
function outputOf(
  file: string,
  args: readonly string[],
  { input, env, timeoutMs, silenceMs, mostBytes }: Limits,
): Promise<string> {
  return new Promise((resolve, reject) => {
    // A group of its own, so that the children of the program end with it.
    const child = spawn(file, [...args], { env, stdio: ["pipe", "pipe", "ignore"], shell: false, detached: true });
    const chunks: Buffer[] = [];
    let bytes = 0;
    const end = (reason: string) => {
      endGroup(child);
      reject(new Error(reason));
    };
    const whole = setTimeout(() => end(`its program did not end within ${timeoutMs} ms`), timeoutMs);
    let silent = setTimeout(() => end(`its program said nothing for ${silenceMs} ms`), silenceMs);
    const settle = () => {
      clearTimeout(whole);
      clearTimeout(silent);
    };
    child.stdout.on("data", (chunk: Buffer) => {
      bytes += chunk.byteLength;
      if (bytes > mostBytes) return end(`its program said more than ${mostBytes} bytes`);
      chunks.push(chunk);
      clearTimeout(silent);
      silent = setTimeout(() => end(`its program said nothing for ${silenceMs} ms`), silenceMs);
    });
    child.on("error", (error) => {
      settle();
      reject(error);
    });
    child.on("close", (code, signal) => {
      settle();
      if (code === 0) resolve(Buffer.concat(chunks).toString("utf8"));
      else reject(new Error(`its program ended with ${code === null ? signal : `exit code ${code}`}`));
    });
    // A program that reads nothing closes its input; its output says what came of it.
    child.stdin.on("error", () => undefined);
    child.stdin.end(input);
  });
}

/** A whole number above zero, or the other one. */
export const countOrElse = (value: unknown, otherwise: number): number =>
  typeof value === "number" && Number.isSafeInteger(value) && value > 0 ? value : otherwise;

const textsIn = (list: unknown): readonly string[] =>
  Array.isArray(list) ? list.filter((item) => typeof item === "string") : [];
