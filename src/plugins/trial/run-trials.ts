import { spawn, type ChildProcess } from "node:child_process";
import { z } from "zod";
import type { TrialOutcome } from "./trials.ts";

/** How to run the program that tries plugins, and its first message. */
export interface TrialProgram<Plugin> {
  readonly command: readonly [program: string, ...args: string[]];
  readonly env: Readonly<Record<string, string | undefined>>;
  job(plugins: readonly Plugin[]): object;
}

/** A plugin as the program names it. */
interface Named {
  readonly id: string;
}

export interface TrialResult {
  readonly outcome: Exclude<TrialOutcome, "killed" | "ended">;
  readonly detail?: string;
  /** Report on code that let the process live. */
  readonly report?: TrialReport;
}

const problem = z.object({ why: z.string(), fix: z.string().optional() });

const report = z.object({
  /** The context engines that the plugin registered. */
  engines: z.array(z.string()),
  /** Whether the plugin registered a part of a memory: the memory itself, tools, or hooks. */
  isMemory: z.boolean().optional(),
  /** Why the plugin is not loaded; checked only where the job asks for it, as the rest. */
  problem: problem.optional(),
  /** Engines of the plugin that cannot be used. */
  unusable: z.array(z.object({ id: z.string(), why: z.string(), fix: z.string() })).optional(),
});

/** Facts that a trial found about a plugin that was loaded in it. */
export type TrialReport = z.output<typeof report>;

/** Milliseconds for the start of the program, and for the code of one plugin while it keeps the process busy. */
export interface TrialLimits {
  readonly startMs: number;
  readonly pluginMs: number;
  /** Milliseconds for the code of one plugin that lets the process wait; none when unset. */
  readonly waitingMs?: number;
}

const TRIAL_LIMITS: TrialLimits = { startMs: 30_000, pluginMs: 10_000 };
/** Milliseconds for a program that is done to end by itself. */
const END_MS = 1000;
/** Programs at one time. */
const AT_ONCE = 2;

/**
 * Messages of the program: that it begins with a plugin, that the plugin lets it wait, and that it is done with the
 * plugin.
 */
const message = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("begin"), id: z.string() }),
  z.object({ kind: z.literal("waiting"), id: z.string() }),
  z.object({ kind: z.literal("done"), id: z.string(), report: report.optional() }),
]);
export type TrialMessage = z.output<typeof message>;

/**
 * Tries plugins: all in one process, and where this one does not get through, each that is left in a process of its own, so
 * that nobody is blamed for another. A plugin without a result could not be tried. Rejects when the program cannot be started.
 */
export async function runTrials<Plugin extends Named>(
  plugins: readonly Plugin[],
  program: TrialProgram<Plugin>,
  limits: TrialLimits = TRIAL_LIMITS,
): Promise<ReadonlyMap<string, TrialResult>> {
  if (plugins.length === 0) return new Map();
  const first = await runProgram(plugins, program, limits);
  if (plugins.length === 1) return first;
  const passed = [...first].filter(([, { outcome }]) => outcome === "passed");
  const results = new Map(passed);
  const left = plugins.filter(({ id }) => !results.has(id));
  const next = async (): Promise<void> => {
    const plugin = left.shift();
    if (!plugin) return;
    for (const [id, result] of await runProgram([plugin], program, limits)) results.set(id, result);
    return next();
  };
  await Promise.all(Array.from({ length: AT_ONCE }, next));
  return results;
}

/** Runs a process for these plugins, one after the other, until it ends or is ended. */
function runProgram<Plugin extends Named>(
  plugins: readonly Plugin[],
  { command: [file, ...args], env, job }: TrialProgram<Plugin>,
  limits: TrialLimits,
): Promise<ReadonlyMap<string, TrialResult>> {
  const child = spawn(file, args, { env, stdio: ["ignore", "ignore", "ignore", "ipc"] });
  const lifeMs = limits.startMs + (limits.pluginMs + (limits.waitingMs ?? 0)) * plugins.length;
  const results = follow(child, plugins.length, limits);
  // A program that is gone already has ended, and `follow` says how.
  child.send({ ...job(plugins), lifeMs }, () => undefined);
  return results;
}

function follow(child: ChildProcess, count: number, limits: TrialLimits): Promise<ReadonlyMap<string, TrialResult>> {
  const { promise, resolve, reject } = Promise.withResolvers<ReadonlyMap<string, TrialResult>>();
  const results = new Map<string, TrialResult>();
  let current: string | undefined;
  let isLate = false;
  const kill = () => {
    isLate = true;
    child.kill("SIGKILL");
  };
  let timer = setTimeout(kill, limits.startMs);
  const restart = (ms: number) => {
    clearTimeout(timer);
    timer = setTimeout(kill, ms);
  };
  child.on("message", (given) => {
    const said = message.parse(given);
    current = said.kind === "done" ? undefined : said.id;
    if (said.kind === "done") results.set(said.id, { outcome: "passed", ...(said.report && { report: said.report }) });
    restart(results.size === count ? END_MS : limits.pluginMs);
  });
  child.on("error", (error) => {
    clearTimeout(timer);
    reject(error);
  });
  child.on("exit", (code, signal) => {
    clearTimeout(timer);
    if (current !== undefined) results.set(current, isLate ? hung(limits) : crashed(code, signal));
    resolve(results);
  });
  return promise;
}

const hung = ({ pluginMs }: TrialLimits): TrialResult => ({
  outcome: "hung",
  detail: `it kept a process busy for ${pluginMs / 1000} s`,
});

const crashed = (code: number | null, signal: NodeJS.Signals | null): TrialResult => ({
  outcome: "crashed",
  detail: signal === null ? `exit code ${code}` : signal,
});
