import { z } from "zod";
import { defineTool, errorResult, textResult } from "../define.ts";
import type { Tool, ToolContext, ToolResult, Elevation } from "../../types/run/tool.ts";
import type { Acting } from "../../types/run/principal.ts";
import type { ExecSettings } from "../../types/settings.ts";
import { rulesOutside } from "../exec/elevation.ts";
import type { ExecLimits } from "../exec/rules/document.ts";
import type { BackgroundProcess } from "./background-process.ts";
import { keyInput, NOT_WRITTEN, pasteInput, refusedInput, submitInput, textInput, type ProcessInput } from "./input.ts";
import type { Processes } from "./processes.ts";
import type { Starter } from "./starter.ts";
import { describeCause } from "../exec/command-end.ts";

const MOST_WAIT_MS = 30_000;

const ACTIONS = ["list", "poll", "log", "write", "send-keys", "submit", "paste", "kill", "clear", "remove"] as const;

const input = z.lazy(() =>
  z.object({
    action: z.enum(ACTIONS),
    sessionId: z.string().optional().describe("From exec or list; needed for all but list"),
    data: z.string().optional().describe("write: text for its input"),
    eof: z.boolean().optional().describe("write: end its input"),
    keys: z.array(z.string()).optional().describe("send-keys: such as Enter, C-c, Up, F1"),
    hex: z.array(z.string()).optional().describe("send-keys: bytes as hex"),
    literal: z.string().optional().describe("send-keys: text"),
    text: z.string().optional().describe("paste, submit: text"),
    bracketed: z.boolean().optional().describe("paste: mark it as pasted; default true"),
    offset: z.int().min(0).optional().describe("log: first line, from 0"),
    limit: z.int().min(1).optional().describe("log: lines; default 200"),
    timeout: z.number().min(0).optional().describe("poll: milliseconds to wait for news, at most 30000"),
  }),
);

type Input = z.output<typeof input>;

export interface ProcessOptions {
  readonly processes: Processes;
  /** The person, agent and session for which the turn acts: it sees only the processes of the same rights. */
  readonly viewer: Starter;
  readonly acting: Acting;
  /** Settings of the config and the conversation for the turn's commands. */
  readonly settings: ExecSettings;
  /** Present limits of the approvals document. */
  limits(): Promise<ExecLimits>;
  /** See `ExecToolOptions`. */
  readonly elevation?: Elevation | undefined;
}

type Act = (one: BackgroundProcess, wanted: Input, scene: Scene) => Promise<ToolResult>;

interface Scene extends ProcessOptions {
  readonly context: ToolContext;
}

const LOG_LINES = 200;

/** A result with a sentence about a process. */
const said = (one: BackgroundProcess, text: string): ToolResult =>
  textResult(text, { status: one.status, sessionId: one.id });

function listResult(all: readonly BackgroundProcess[]): ToolResult {
  const now = Date.now();
  const rows = all.map((one) => rowOf(one, now));
  const lines = rows.map(
    ({ sessionId, status, runtimeMs, name, waitingForInput }) =>
      `${sessionId} ${status} ${Math.round(runtimeMs / 1000)}s ${name}${waitingForInput ? " [may be waiting for input]" : ""}`,
  );
  return textResult(lines.length === 0 ? "No command runs in the background." : lines.join("\n"), { sessions: rows });
}

function rowOf(one: BackgroundProcess, now: number) {
  const { command, cwd, startedAt, running } = one.of;
  const { output } = running;
  const text = output.text();
  return {
    sessionId: one.id,
    name: one.name,
    status: one.status,
    pid: running.pid,
    startedAt,
    runtimeMs: (one.endedAt ?? now) - startedAt,
    cwd,
    command,
    tail: one.tail(),
    truncated: output.size > text.length,
    stdinWritable: one.isInputOpen,
    waitingForInput: one.isWaiting(now),
    idleMs: now - output.lastAt,
    ...endDetails(one),
  };
}

function endDetails({ end, endedAt }: BackgroundProcess) {
  if (end === undefined) return {};
  return { exitCode: end.code, timedOut: end.because === "timeout", ...(endedAt !== undefined && { endedAt }) };
}

/** The output since the last poll, and the state of the process. */
function pollResult(one: BackgroundProcess): ToolResult {
  const { text, skipped } = one.drain();
  const isRunning = one.status === "running";
  const cut = skipped > 0 ? `[${skipped} characters before this are left out; log shows more.]\n` : "";
  // Unchanged, line end included: the next poll continues the text.
  const shown = text === "" ? "[no new output]" : text;
  return textResult(`${cut}${shown}\n\n${stateOf(one)}`, {
    status: one.status,
    sessionId: one.id,
    pid: one.of.running.pid,
    ...(isRunning && { retryInMs: one.retryInMs, waitingForInput: one.isWaiting(Date.now()) }),
    ...endDetails(one),
  });
}

function stateOf(one: BackgroundProcess): string {
  if (one.end === undefined && one.status === "running") {
    const waits = one.isWaiting(Date.now()) ? " It may be waiting for input." : "";
    return `[Still running.${waits} Poll again in ${one.retryInMs / 1000} seconds, or with a timeout.]`;
  }
  if (one.end === undefined || one.status === "killed") return "[killed]";
  const { file } = one.end.output;
  const whole = file === undefined ? "" : `\n[All of its output is in ${file}.]`;
  return `${describeCause(one.end, one.of.timeoutMs)}${whole}`;
}

/** Lines of the kept output: the last ones, or lines from an offset on. */
function logResult(
  one: BackgroundProcess,
  { offset, limit = LOG_LINES }: { readonly offset?: number | undefined; readonly limit?: number | undefined },
): ToolResult {
  const { output } = one.of.running;
  const text = output.text();
  const lines = text.replace(/\n$/, "").split("\n");
  const total = text === "" ? 0 : lines.length;
  const from = offset ?? Math.max(0, total - limit);
  const shown = lines.slice(from, from + limit);
  const isCut = output.size > text.length;
  const kept = isCut ? ` of the last ${text.length} characters` : "";
  const range = shown.length === 0 || total === 0 ? "no lines" : `lines ${from} to ${from + shown.length - 1}`;
  return textResult(`${total === 0 ? "" : shown.join("\n")}\n\n[${range}${kept}; ${total} in all; ${one.status}]`, {
    status: one.status,
    sessionId: one.id,
    total,
    totalLines: total,
    totalChars: output.size,
    truncated: isCut,
    ...endDetails(one),
  });
}

const ACTS: Readonly<Record<Exclude<Input["action"], "list">, Act>> = {
  poll: async (one, wanted, scene) => marked(await poll(one, wanted, scene), one, scene),
  log: async (one, wanted, scene) => marked(logResult(one, wanted), one, scene),
  write: (one, { data, eof }, scene) => give(one, textInput(data, eof), scene),
  "send-keys": (one, wanted, scene) => give(one, keyInput(wanted), scene),
  submit: (one, { text, data }, scene) => give(one, submitInput(one, text ?? data), scene),
  paste: (one, { text, data, bracketed }, scene) => give(one, pasteInput(one, text ?? data, bracketed), scene),
  kill,
  async clear(one, _wanted, { processes }) {
    if (one.status === "running") return errorResult("It is still running; end it with kill, or use remove.");
    processes.remove(one);
    return said(one, "Its output is forgotten.");
  },
  async remove(one, _wanted, { processes }) {
    await one.kill();
    processes.remove(one);
    return said(one, "It is ended and forgotten.");
  },
};

/** Marks a result as untrusted if another conversation started the process, or typed into it. */
function marked(result: ToolResult, { name, of: { running } }: BackgroundProcess, { acting }: Scene): ToolResult {
  const source = running.source?.(acting);
  if (source === undefined) return result;
  const externalContent = { untrusted: true, source: `the output of ${name} (${source})` };
  return { ...result, details: { ...result.details, externalContent } };
}

async function poll(one: BackgroundProcess, { timeout = 0 }: Input, { context }: Scene): Promise<ToolResult> {
  const waitMs = Math.min(timeout, MOST_WAIT_MS);
  if (waitMs > 0) await one.news(AbortSignal.any([context.signal, AbortSignal.timeout(waitMs)]));
  return pollResult(one);
}

async function kill(one: BackgroundProcess): Promise<ToolResult> {
  if (one.status !== "running") return errorResult("It has ended already.", { status: one.status, sessionId: one.id });
  await one.kill();
  const left = one.end?.left ?? [];
  return left.length === 0
    ? said(one, "It is ended, with everything that it started.")
    : errorResult(`These could not be ended: ${left.map(({ pid, command }) => `${pid} (${command})`).join(", ")}`);
}

async function give(one: BackgroundProcess, made: ProcessInput | string, scene: Scene): Promise<ToolResult> {
  if (typeof made === "string") return errorResult(made);
  if (!one.isInputOpen) return errorResult(whyClosed(one), { status: one.status, sessionId: one.id });
  const { settings, elevation, limits } = scene;
  const rules = one.of.isElevated === true ? rulesOutside(settings, elevation) : settings;
  if (typeof rules === "string") return errorResult(`${NOT_WRITTEN} ${rules}`, { refused: true });
  const refused = await refusedInput(one, made, { settings: rules, limits }, scene.context);
  if (refused !== undefined) return errorResult(refused, { refused: true });
  const sources = (await scene.context.untrusted?.()) ?? [];
  await one.give(made, { signal: scene.context.signal, typist: { by: scene.acting, sources } });
  return said(one, made.ends ? "Its input is ended." : `Wrote ${made.bytes.length} bytes to it.`);
}

const whyClosed = (one: BackgroundProcess): string =>
  one.status === "running"
    ? "It has no open input. Only commands that exec starts with background or pty have one."
    : "It has ended.";

/** The tool `process`: follows and controls the commands that run in the background. */
export function processTool(options: ProcessOptions): Tool {
  return defineTool<Input>({
    name: "process",
    label: "Process",
    description:
      "Follow and control commands in the background: list them; poll new output; log lines of all output; write, " +
      "send-keys, submit (Enter) and paste into their input; kill; clear or remove a finished one.",
    input,
    hasSideEffects: true,
    async run(wanted, context) {
      const { processes, viewer } = options;
      if (wanted.action === "list") return listResult(processes.list(viewer));
      if (wanted.sessionId === undefined) return errorResult(`The action ${wanted.action} needs a sessionId.`);
      const one = processes.find(wanted.sessionId, viewer);
      if (!one) return errorResult(`There is no process with the session "${wanted.sessionId}"; list shows them.`);
      return ACTS[wanted.action](one, wanted, { ...options, context });
    },
  });
}
