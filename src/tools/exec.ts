import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";
import { refusedNames } from "./variables.ts";
import type { Processes } from "./process/processes.ts";
import type { Starter } from "./process/starter.ts";
import { defineTool, errorResult, textResult } from "./define.ts";
import type { CommandLine, CommandEnd, RunningCommand, RunningOutput } from "../types/run/backend.ts";
import { EXEC_ASK, EXEC_SECURITY } from "../types/run/exec-wish.ts";
import type { Tool, ToolContext, ToolResult } from "../types/run/tool.ts";
import { CALL_HOSTS, wayOf, type CommandWay, type OtherPlaces } from "./exec/elevation.ts";
import type { Variables } from "./exec/binding.ts";
import { judge, permit, execRefusalText, type CommandVerdict, type ExecOptions } from "./exec/permission.ts";
import { narrowed } from "./exec/rules/policy.ts";
import type { BackgroundSettings } from "../types/settings.ts";
import type { BackgroundProcess } from "./process/background-process.ts";
import type { Boundary } from "./exec/contained.ts";
import { describeEnd } from "./exec/command-end.ts";
import { tailOf, MAX_LINES } from "./cap.ts";

const input = z.lazy(() =>
  z.object({
    command: z.string().min(1).describe("Shell command"),
    workdir: z.string().optional().describe("Directory to run in; the workspace when left out"),
    cwd: z.string().optional().describe("The same as workdir"),
    env: z.record(z.string(), z.string()).optional().describe("Additional environment variables"),
    timeout: z.number().min(0).optional().describe("Seconds after which it is ended; 0 for never, with background"),
    timeoutSeconds: z.number().min(0).optional().describe("The same as timeout"),
    elevated: z
      .boolean()
      .optional()
      .describe("Outside the sandbox, where there is one; a person is asked unless the user chose otherwise"),
    pty: z.boolean().optional().describe("Run in a terminal, for programs that need one"),
    host: z.enum(CALL_HOSTS).optional().describe("sandbox: in a sandbox, or not at all"),
    security: z.enum(EXEC_SECURITY).optional().describe("As strict as the config, or stricter"),
    ask: z.enum(EXEC_ASK).optional().describe("The same"),
  }),
);

const inBackground = {
  background: z.boolean().optional().describe("Return at once; follow it with process"),
  yieldMs: z.number().optional().describe("Milliseconds until it is moved to the background, 10-120000"),
};

/** Made once, so that its JSON Schema is made once too. */
const followedInput = z.lazy(() => input.unwrap().extend(inBackground));

type Input = z.output<typeof input> & {
  readonly background?: boolean | undefined;
  readonly yieldMs?: number | undefined;
};

export interface ExecToolOptions extends ExecOptions, OtherPlaces {
  /**
   * Processes that keep background commands, and the starter of this run's; unset when the agent has no tool to follow
   * them.
   */
  readonly background?: { readonly processes: Processes; readonly starter: Starter } | undefined;
}

const LEAST_YIELD_MS = 10;
const MOST_YIELD_MS = 120_000;
/** Longest wait of a timer in milliseconds. */
const MOST_TIMEOUT_MS = 2_000_000_000;

/**
 * Time limit of a command in milliseconds; 0 for none. The operator's limit counts for every command that a call waits
 * for.
 */
function timeoutOf({ timeout, timeoutSeconds = timeout, background }: Input, mostMs: number): number {
  if (timeoutSeconds === undefined) return mostMs;
  const askedMs = Math.min(timeoutSeconds * 1000, MOST_TIMEOUT_MS);
  if (background === true || mostMs === 0) return askedMs;
  return askedMs === 0 ? mostMs : Math.min(askedMs, mostMs);
}

function yieldOf({ background, yieldMs }: Input, { settings, background: place }: ExecToolOptions): number | undefined {
  if (!place) return undefined;
  if (background === true) return 0;
  const wanted = yieldMs ?? settings.background?.afterMs ?? FOLLOWED.afterMs;
  return Math.min(Math.max(wanted, LEAST_YIELD_MS), MOST_YIELD_MS);
}

/** The defaults of the config. */
const FOLLOWED = { afterMs: 10_000, keptMs: 1_800_000, notifyOnExit: true, notifyOnExitEmptySuccess: false };

async function runAllowed(
  wanted: Input & Pick<CommandLine, "cwd" | "argv"> & { readonly variables: Variables },
  options: ExecToolOptions,
  context: ToolContext,
): Promise<ToolResult> {
  const timeoutMs = timeoutOf(wanted, options.settings.timeoutMs);
  const { background: place, backend } = options;
  const isBackground = place !== undefined && wanted.background === true;
  const piped = isBackground ? "pipe" : "none";
  const line = {
    command: wanted.command,
    argv: wanted.argv,
    cwd: wanted.cwd,
    timeoutMs,
    env: { ...wanted.variables, ...wanted.env },
    input: wanted.pty === true ? "terminal" : piped,
  } as const;
  const startedAt = Date.now();
  const running = await (place ? place.processes.start(backend, line) : backend.start(line));
  const started: Started = { ...line, running, startedAt };
  return follow(started, followingOf(wanted, options), context);
}

function followingOf(wanted: Input, options: ExecToolOptions): Following | undefined {
  const { background: place, settings } = options;
  const yieldMs = yieldOf(wanted, options);
  if (!place || yieldMs === undefined) return undefined;
  const isElevated = options.elevated !== undefined;
  const { backend } = options;
  return { ...place, yieldMs, settings: settings.background ?? FOLLOWED, backend, ...(isElevated && { isElevated }) };
}

/** The command after its assignments, in the shell's form: the person who allows the command sees its variables. */
function shownCommand({ command, env = {} }: Input): string {
  const assigned = Object.entries(env).map(([name, value]) => `${name}='${value.replaceAll("'", String.raw`'\''`)}' `);
  return `${assigned.join("")}${command}`;
}

const DESCRIPTION =
  "Run a shell command and get its output and exit code. A person may be asked first and may refuse. What it starts in " +
  "the background with & ends with it.";
const ALONE = " There is no input; start nothing that waits for any.";
const FOLLOWED_BY_PROCESS =
  " Servers and long commands: background: true, then process. A command that runs for long is moved to the " +
  "background by itself. Without background or pty it has no input.";

/** The tool `exec`: runs shell commands, after a question where the settings ask for one. */
export function execTool(options: ExecToolOptions): Tool {
  const isFollowed = options.background !== undefined;
  return defineTool<Input>({
    name: "exec",
    label: "Exec",
    description: [DESCRIPTION + (isFollowed ? FOLLOWED_BY_PROCESS : ALONE), options.backend.note]
      .filter((text) => text !== undefined)
      .join(" "),
    input: isFollowed ? followedInput : input,
    // A command has its own time limit, which the operator sets.
    timeoutMs: 0,
    hasSideEffects: true,
    async run(wanted, context) {
      const way = whyRefused(wanted, options) ?? wayOf(wanted, options, options);
      if (typeof way === "string") return errorResult(way, { refused: true });
      const own = { ...options, ...way, settings: narrowed(way.settings, wanted) };
      const cwd = await own.backend.directory(wanted.workdir ?? wanted.cwd ?? ".", context.workspace);
      const permitted = await permit({ command: shownCommand(wanted), cwd }, own, context);
      if (permitted.kind === "refused") return errorResult(permitted.text, { refused: true });
      // The run may have been stopped after a person allowed the command.
      if (context.signal.aborted) return errorResult(execRefusalText("abort"), { refused: true });
      const { argv, variables } = permitted;
      return markElevated(way, await runAllowed({ ...wanted, cwd, argv, variables }, own, context));
    },
  });
}

/** What would become of a command in the workspace; runs nothing and asks nobody. */
export async function judgeCommand(
  command: string,
  options: ExecOptions,
  context: Parameters<typeof judge>[2],
): Promise<CommandVerdict> {
  const forPeople = whyForPeople(command);
  if (forPeople !== undefined) return { decision: "deny", by: "place", why: forPeople };
  return judge({ command, cwd: await options.backend.directory(".", context.workspace) }, options, context);
}

/** Reason why a call is refused whatever the rules for its command; undefined when it is not. */
function whyRefused(wanted: Input, { background: place }: ExecToolOptions): string | undefined {
  const { command, env = {}, security, background } = wanted;
  const names = refusedNames(env);
  if (names.length > 0) return whyNoEnv(names);
  if (security === "deny") return "The command was not run: the call itself says security: deny.";
  const forPeople = whyForPeople(command);
  if (forPeople !== undefined) return `The command was not run: ${forPeople}.`;
  return background === true ? place?.processes.full : undefined;
}

/** Adds the level of an elevated command to a result's details, for the receipt. */
const markElevated = ({ elevated }: CommandWay, result: ToolResult): ToolResult =>
  elevated === undefined ? result : { ...result, details: { ...result.details, elevated } };

const whyNoEnv = (names: readonly string[]): string =>
  `The command was not run: env must not set ${names.join(", ")}. These variables make programs load code or decide what ` +
  "the operator decides, or their names or values are not valid; leave them out.";

/** Commands for a person alone: answers to approval questions, and logins that show a code. */
const FOR_PEOPLE: readonly (readonly [text: RegExp, why: string])[] = [
  [/(?:^|[;&|\n])\s*\/approve\b/, "only a person answers an approval question"],
  [
    /\bopenclaw(?:\.mjs)?\s(?:[^;&|\n]*\s)?channels\s+(?:[^;&|\n]*\s)?login\b/,
    "a person logs a channel in, at a terminal (openclaw channels login)",
  ],
];

/**
 * Reason why a command is for a person alone, whatever the rules; undefined when it is not. The check is no barrier: it
 * only informs a model early. Pure.
 */
const whyForPeople = (command: string): string | undefined => FOR_PEOPLE.find(([text]) => text.test(command))?.[1];

/** A command that this call started. */
interface Started extends Pick<CommandLine, "command" | "cwd" | "timeoutMs"> {
  readonly running: RunningCommand;
  /** Epoch milliseconds. */
  readonly startedAt: number;
}

/** Time after which a command is moved to the background, and the objects that keep it there. */
interface Following {
  readonly yieldMs: number;
  readonly processes: Processes;
  readonly starter: Starter;
  readonly settings: BackgroundSettings;
  /** True when the command left the sandbox. */
  readonly isElevated?: boolean;
  /** The sandbox of the command, or the machine. */
  readonly backend: Boundary;
}

/**
 * Waits for a command until it ends, the call is aborted, or the command is moved to the background. Without
 * `following` a command is never moved.
 */
async function follow(
  started: Started,
  following: Following | undefined,
  { runId, signal, update }: Pick<ToolContext, "runId" | "signal" | "update">,
): Promise<ToolResult> {
  const { running } = started;
  const stop = () => running.end("abort");
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  const hide = showProgress(running.output, update);
  try {
    const end = await endOrYield(running, following, signal);
    if (end !== undefined || !following) return endResult(started, end ?? (await running.ended));
    return runningResult(started, following.processes.add({ ...started, ...following, runId }));
  } finally {
    hide();
    signal.removeEventListener("abort", stop);
  }
}

/**
 * Waits for the end of a command. Undefined when the time is over and the command may keep running in the background.
 */
async function endOrYield(
  { ended }: RunningCommand,
  following: Following | undefined,
  signal: AbortSignal,
): Promise<CommandEnd | undefined> {
  if (!following) return ended;
  const waiting = new AbortController();
  const late = delay(following.yieldMs, undefined, { signal: waiting.signal }).catch(withoutResult);
  try {
    // A command with `background: true` is moved at once, however soon it ends.
    const end = following.yieldMs === 0 ? undefined : await Promise.race([ended, late]);
    // A stopped command ends soon; a command above the limit of background commands has to be waited for.
    return end === undefined && (signal.aborted || following.processes.full !== undefined) ? await ended : end;
  } finally {
    waiting.abort();
  }
}

/** Handles the timer's rejection when the command ended first. Nobody waits for the timer then. */
const withoutResult = (): undefined => undefined;

function endResult({ running, startedAt, cwd, timeoutMs }: Started, end: CommandEnd): ToolResult {
  const left = end.left.map(({ pid }) => pid);
  const isGood = end.because === "exit" && end.code === 0;
  const details = {
    status: isGood ? "completed" : "failed",
    exitCode: end.code,
    because: end.because,
    cwd,
    durationMs: Date.now() - startedAt,
    timedOut: end.because === "timeout",
    aggregated: endOf(running.output),
    ...(left.length > 0 && { left }),
  };
  const text = `${describeEnd(end, timeoutMs)}${warningOf(running)}`;
  return isGood ? textResult(text, details) : errorResult(text, details);
}

function runningResult({ running, startedAt, cwd }: Started, { id }: BackgroundProcess): ToolResult {
  const tail = endOf(running.output);
  const said = tail.trim() === "" ? "[no output yet]" : tail.trimEnd();
  const text =
    `${said}\n\n[Still running in the background: session ${id}, pid ${running.pid}. Read its output with process (poll), ` +
    `end it with process (kill).]${warningOf(running)}`;
  return textResult(text, { status: "running", sessionId: id, pid: running.pid, startedAt, cwd, tail });
}

const warningOf = ({ warning }: RunningCommand): string => (warning === undefined ? "" : `\n[${warning}]`);

const UPDATE_EVERY_MS = 250;
/** Factor between two pauses, so that a command of a day makes only about a hundred updates. */
const UPDATE_GROWTH = 1.1;
const UPDATE_BYTES = 8 * 1024;

/** The last part of a command's output until now, short enough to be shown again and again. */
const endOf = (output: RunningOutput): string => tailOf(output.text(), { lines: MAX_LINES, bytes: UPDATE_BYTES }).text;

/**
 * Shows the newest output of a command until the returned function is called: at once, then after 250 ms, then at
 * longer and longer intervals.
 */
function showProgress(output: RunningOutput, show: (partial: string) => void): () => void {
  const updates = throttle(() => show(endOf(output)));
  const unwatch = output.watch(updates.request);
  if (output.size > 0) updates.request();
  return () => {
    unwatch();
    updates.stop();
  };
}

/** Calls `call` at most once per pause. The last request is never lost before `stop`. */
function throttle(call: () => void): { request(): void; stop(): void } {
  let timer: NodeJS.Timeout | undefined;
  let isDue = false;
  let waitMs = UPDATE_EVERY_MS;
  const fire = (): void => {
    isDue = false;
    timer = setTimeout(() => {
      timer = undefined;
      if (isDue) {
        fire();
      }
    }, waitMs);
    waitMs *= UPDATE_GROWTH;
    call();
  };
  return {
    request() {
      isDue = true;
      if (timer === undefined) {
        fire();
      }
    },
    stop: () => clearTimeout(timer),
  };
}
