import { spawn, type ChildProcess } from "node:child_process";
import { isFields, type Fields } from "../../../utils/fields.ts";
import { numberIn, textIn } from "../foreign.ts";
import type { PluginScope } from "../scope.ts";

const MOST_BYTES = 10 * 1_048_576;
/** Milliseconds between the request to end and the end. */
const GRACE_MS = 2000;

/** The outcome in the field's form. */
interface CommandResult {
  readonly pid?: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly killed: boolean;
  readonly termination: "exit" | "timeout" | "signal";
}

/**
 * `runtime.system.runCommandWithTimeout(argv, {timeoutMs, cwd, env, input, signal, maxOutputBytes})`: runs a program without a
 * shell. It is ended when the time is over, when the signal aborts and when the plugin is unloaded. Rejects when it cannot start.
 */
export function commandRunner(scope: PluginScope) {
  return async (argv: unknown, given: unknown): Promise<CommandResult> => {
    const [program, ...args] = wordsIn(argv);
    const options: Fields = isFields(given) ? given : { timeoutMs: given };
    const timeoutMs = numberIn(options, "timeoutMs");
    if (timeoutMs === undefined || timeoutMs <= 0) throw new TypeError("runCommandWithTimeout needs timeoutMs");
    const cwd = textIn(options, "cwd") ?? scope.plugin.root;
    const env = isFields(options["env"]) ? textsIn(options["env"]) : {};
    const child = spawn(program ?? "", args, { cwd, env: { ...process.env, ...env }, stdio: "pipe" });
    const stop = options["signal"] instanceof AbortSignal ? [options["signal"]] : [];
    const overdue = AbortSignal.timeout(timeoutMs);
    return outcomeOf(child, {
      input: textIn(options, "input"),
      most: numberIn(options, "maxOutputBytes") ?? MOST_BYTES,
      overdue,
      ending: AbortSignal.any([overdue, scope.signal, ...stop]),
    });
  };
}

function wordsIn(argv: unknown): readonly string[] {
  const words: readonly unknown[] = Array.isArray(argv) ? argv : [];
  if (words.length > 0 && words.every((word) => typeof word === "string")) return words;
  throw new TypeError("runCommandWithTimeout takes a list of words, the program first");
}

const textsIn = (given: Fields): Record<string, string> =>
  Object.fromEntries(Object.entries(given).filter((entry): entry is [string, string] => typeof entry[1] === "string"));

interface Limits {
  readonly input: string | undefined;
  readonly most: number;
  readonly overdue: AbortSignal;
  readonly ending: AbortSignal;
}

function outcomeOf(child: ChildProcess, { input, most, overdue, ending }: Limits): Promise<CommandResult> {
  const { promise, resolve, reject } = Promise.withResolvers<CommandResult>();
  const [stdout, stderr] = [child.stdout, child.stderr].map((stream) => {
    const kept: Buffer[] = [];
    let size = 0;
    stream?.on("data", (chunk: Buffer) => {
      if (size < most) kept.push(chunk.subarray(0, most - size));
      size += chunk.length;
    });
    return () => Buffer.concat(kept).toString("utf8");
  });
  let force: NodeJS.Timeout | undefined;
  const end = () => {
    child.kill("SIGTERM");
    force = setTimeout(() => child.kill("SIGKILL"), GRACE_MS);
  };
  ending.addEventListener("abort", end, { once: true });
  if (ending.aborted) end();
  child.once("error", reject);
  child.once("close", (code, signal) => {
    clearTimeout(force);
    ending.removeEventListener("abort", end);
    const stopped = signal === null ? "exit" : "signal";
    resolve({
      ...(child.pid !== undefined && { pid: child.pid }),
      stdout: stdout?.() ?? "",
      stderr: stderr?.() ?? "",
      code,
      signal,
      killed: child.killed,
      termination: overdue.aborted && child.killed ? "timeout" : stopped,
    });
  });
  // A program that reads nothing closes its input: the program's end shows its result.
  child.stdin?.on("error", () => undefined);
  child.stdin?.end(input);
  return promise;
}
