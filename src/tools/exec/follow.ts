import { setTimeout as delay } from "node:timers/promises";
import type { CommandEnd, CommandLine, RunningCommand, RunningOutput } from "../../types/run/backend.ts";
import type { ToolContext, ToolResult } from "../../types/run/tool.ts";
import type { BackgroundSettings } from "../../types/settings.ts";
import { errorResult, textResult } from "../define.ts";
import type { BackgroundProcess } from "../process/background-process.ts";
import type { Starter } from "../process/starter.ts";
import type { Processes } from "../process/processes.ts";
import type { Boundary } from "./contained.ts";
import { describeEnd } from "./command-end.ts";
import { tailOf, MAX_LINES } from "../cap.ts";

/** A command that this call started. */
export interface Started extends Pick<CommandLine, "command" | "cwd" | "timeoutMs"> {
  readonly running: RunningCommand;
  /** Epoch milliseconds. */
  readonly startedAt: number;
}

/** When a command is moved to the background, and what keeps it there. */
export interface Following {
  readonly yieldMs: number;
  readonly processes: Processes;
  readonly starter: Starter;
  readonly settings: BackgroundSettings;
  /** The command left the sandbox. */
  readonly isElevated?: boolean;
  /** Where it runs. */
  readonly backend: Boundary;
}

/** Waits for a command until it ends, the call is aborted, or it is moved to the background. Without `following` it never is. */
export async function follow(
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

/** Undefined when the time is over and the command may keep running in the background. */
async function endOrYield(
  { ended }: RunningCommand,
  following: Following | undefined,
  signal: AbortSignal,
): Promise<CommandEnd | undefined> {
  if (!following) return ended;
  const waiting = new AbortController();
  const late = delay(following.yieldMs, undefined, { signal: waiting.signal }).catch(withoutResult);
  try {
    // Whoever wants it in the background gets it there, however soon it ends.
    const end = following.yieldMs === 0 ? undefined : await Promise.race([ended, late]);
    // A stopped command ends soon; one more than the limit of background commands has to be waited for.
    return end === undefined && (signal.aborted || following.processes.full !== undefined) ? await ended : end;
  } finally {
    waiting.abort();
  }
}

/** The timer rejects when the command ended before it. Nobody waits for the timer then. */
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
/** Factor by which each pause is longer than the one before, so that a command of a day makes only about a hundred updates. */
const UPDATE_GROWTH = 1.1;
const UPDATE_BYTES = 8 * 1024;

/** The end of what a command has written until now, short enough to be shown again and again. */
const endOf = (output: RunningOutput): string => tailOf(output.text(), { lines: MAX_LINES, bytes: UPDATE_BYTES }).text;

/**
 * Shows the newest output of a command until the returned function is called: at once, then after 250 ms, then less and less
 * often.
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

/** The last request is never lost before `stop`. */
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
