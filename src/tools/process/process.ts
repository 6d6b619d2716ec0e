import { z } from "zod";
import { defineTool, errorResult, textResult } from "../define.ts";
import type { Tool, ToolContext, ToolResult, Elevation } from "../../types/run/tool.ts";
import type { Acting } from "../../types/run/principal.ts";
import type { ExecSettings } from "../../types/settings.ts";
import { rulesOutside } from "../exec/elevation.ts";
import type { ExecLimits } from "../exec/rules/document.ts";
import type { BackgroundProcess } from "./background-process.ts";
import type { Processes } from "./processes.ts";
import type { Starter } from "./starter.ts";
import { describeCause } from "../exec/command-end.ts";
import { alsoSources } from "../../types/run/untrusted.ts";
import { isContained } from "../exec/contained.ts";
import { whyUnshowable } from "../exec/hidden.ts";
import { narrowed, narrowedAfter } from "../exec/rules/policy.ts";
import { isUnasked, UNASKED_TEXTS } from "../../types/run/unasked.ts";

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

/** Input for a process. */
interface ProcessInput {
  readonly bytes: Uint8Array;
  /** True when the input ends with these bytes. */
  readonly ends: boolean;
  /** The input in a form for the person who decides about it. */
  readonly shown: string;
}

/** Most bytes of an input: more than a program reads at a time. Longer texts belong into a file. */
const MOST_BYTES = 64 * 1024;

/**
 * The input with a text. `shown` is the text itself when unset. Returns a text for the model when the input is too
 * long.
 */
function inputOf(text: string, { ends = false, shown = text }: { ends?: boolean; shown?: string } = {}) {
  const bytes = Buffer.from(text);
  return bytes.length > MOST_BYTES
    ? `That is more than ${MOST_BYTES} bytes; write it to a file instead.`
    : { bytes, ends, shown };
}

/** The input of the action `write`; a text for the model when there is none. */
function textInput(data = "", eof = false): ProcessInput | string {
  if (data === "" && !eof) return "The action write needs data, or eof.";
  return inputOf(data, { ends: eof, shown: data === "" ? "[end of the input]" : data });
}

/** The input of the action `submit`: a line, or only its end. */
const submitInput = (one: BackgroundProcess, text = ""): ProcessInput | string =>
  inputOf(`${text}${isTerminal(one) ? "\r" : "\n"}`, { shown: text === "" ? "[Enter]" : text });

/** The input of the action `paste`. Only a terminal marks pasted text. */
const pasteInput = (one: BackgroundProcess, text = "", bracketed = true): ProcessInput | string =>
  text === ""
    ? "The action paste needs a text."
    : inputOf(bracketed && isTerminal(one) ? pasted(text) : text, { shown: text });

const isTerminal = ({ of: { running } }: BackgroundProcess): boolean => running.input === "terminal";

interface Keys {
  readonly keys?: readonly string[] | undefined;
  readonly hex?: readonly string[] | undefined;
  readonly literal?: string | undefined;
}

/** The input of the action `send-keys`: the text, then the keys, then the bytes. */
function keyInput({ keys = [], hex = [], literal = "" }: Keys): ProcessInput | string {
  const unknown = [
    ...keys.filter((key) => bytesOfKey(key) === undefined),
    ...hex.filter((one) => byteOfHex(one) === undefined),
  ];
  if (unknown.length > 0) return `These are no keys or bytes: ${unknown.join(", ")}. Nothing was written.`;
  const ofKeys = keys.map((key) => bytesOfKey(key) ?? "").join("");
  const ofHex = hex.map((one) => byteOfHex(one) ?? 0);
  const bytes = Buffer.concat([Buffer.from(`${literal}${ofKeys}`), Buffer.from(ofHex)]);
  if (bytes.length === 0) return "The action send-keys needs keys, hex or literal.";
  const shown = [literal, ...keys.map((key) => `[${key}]`), ...hex.map((one) => `[0x${one}]`)].join("");
  return bytes.length > MOST_BYTES ? "Those are too many keys at once." : { bytes, ends: false, shown };
}

/** Rules for an input. */
interface InputRules {
  /** Settings of the config and the conversation. */
  readonly settings: ExecSettings;
  /** Present limits of the approvals document. */
  limits(): Promise<ExecLimits>;
}

/**
 * Reason why a process must not get an input; undefined when it may. Commands that need a question make the input need
 * one too: a shell or an interpreter takes its input for commands.
 */
async function refusedInput(
  { name, of: { cwd, backend } }: BackgroundProcess,
  { shown }: ProcessInput,
  { settings, limits }: InputRules,
  { approvals, signal, untrusted }: Pick<ToolContext, "approvals" | "signal" | "untrusted">,
): Promise<string | undefined> {
  const sources = (await untrusted?.()) ?? [];
  const narrow = async () => narrowedAfter(narrowed(settings, await limits()), sources);
  const { security, ask } = await narrow();
  if (security === "full" && ask !== "always") return undefined;
  const off = whyOff({ security, ask });
  if (off !== undefined) return off;
  if (isContained(backend, { ask }, sources)) return undefined;
  // The question also shows the name, and a command in a sandbox ran without a question.
  const unreadable = whyUnshowable(shown, [cwd, name.replaceAll("\t", " ")]);
  if (unreadable !== undefined) return `${NOT_WRITTEN} nobody can be asked about it: ${unreadable}.`;
  const reason = `It is the input of a command that is running: ${name}.${alsoSources(sources)}`;
  const answer = await approvals.ask({ command: shown, cwd, reason }, signal);
  // The operator's files may have been made stricter while the question waited.
  if (answer === "allow-once" || answer === "allow-always") return whyOff(await narrow());
  if (!isUnasked(answer)) return `${NOT_WRITTEN} ${ANSWERS[answer]}`;
  return `${NOT_WRITTEN} nobody can be asked about it: ${UNASKED_TEXTS[answer]}.`;
}

function whyOff({ security, ask }: Pick<ExecSettings, "security" | "ask">): string | undefined {
  if (security === "deny") return `${NOT_WRITTEN} commands are switched off (tools.exec or exec-approvals.json).`;
  if (security === "full" || ask !== "off") return undefined;
  return `${NOT_WRITTEN} only listed commands run here, and an input is none (tools.exec or exec-approvals.json).`;
}

const NOT_WRITTEN = "Nothing was written:";

const ANSWERS = {
  deny: "a person refused it. Do not try it in another form; ask the user what to do instead.",
  timeout: "nobody answered the question whether it may be. Tell the user that it waits for approval.",
  abort: "the run was stopped.",
} as const;

const ESCAPE = "\u001B";

/** Bytes that a terminal sends for a key. */
const NAMED: Readonly<Record<string, string>> = {
  enter: "\r",
  return: "\r",
  tab: "\t",
  escape: ESCAPE,
  esc: ESCAPE,
  space: " ",
  backspace: "\u007F",
  bspace: "\u007F",
  up: `${ESCAPE}[A`,
  down: `${ESCAPE}[B`,
  right: `${ESCAPE}[C`,
  left: `${ESCAPE}[D`,
  home: `${ESCAPE}[H`,
  end: `${ESCAPE}[F`,
  insert: `${ESCAPE}[2~`,
  delete: `${ESCAPE}[3~`,
  pageup: `${ESCAPE}[5~`,
  pagedown: `${ESCAPE}[6~`,
  btab: `${ESCAPE}[Z`,
  f1: `${ESCAPE}OP`,
  f2: `${ESCAPE}OQ`,
  f3: `${ESCAPE}OR`,
  f4: `${ESCAPE}OS`,
  f5: `${ESCAPE}[15~`,
  f6: `${ESCAPE}[17~`,
  f7: `${ESCAPE}[18~`,
  f8: `${ESCAPE}[19~`,
  f9: `${ESCAPE}[20~`,
  f10: `${ESCAPE}[21~`,
  f11: `${ESCAPE}[23~`,
  f12: `${ESCAPE}[24~`,
};

const OTHER_NAMES: Readonly<Record<string, string>> = {
  arrowup: "up",
  arrowdown: "down",
  arrowright: "right",
  arrowleft: "left",
  pgup: "pageup",
  pgdn: "pagedown",
  ppage: "pageup",
  npage: "pagedown",
  dc: "delete",
  del: "delete",
  ic: "insert",
};

/**
 * The bytes of a key as tmux names keys (`C-c`, `M-x`, `S-Tab`, `Enter`, `F1`), of `^C`, or of one character. Undefined
 * for any other text.
 */
function bytesOfKey(key: string): string | undefined {
  const meta = /^(?:M|Alt)-(.+)$/is.exec(key)?.[1];
  if (meta !== undefined) {
    const rest = bytesOfKey(meta);
    return rest === undefined ? undefined : `${ESCAPE}${rest}`;
  }
  const control = /^(?:C-|Ctrl[-+]|\^)(.+)$/is.exec(key)?.[1];
  if (control !== undefined) return controlOf(control);
  if (/^S-Tab$/i.test(key)) return NAMED["btab"];
  return /^.$/su.test(key) ? key : namedKey(key.toLowerCase());
}

const namedKey = (name: string): string | undefined => {
  const found = Object.hasOwn(OTHER_NAMES, name) ? (OTHER_NAMES[name] ?? name) : name;
  return Object.hasOwn(NAMED, found) ? NAMED[found] : undefined;
};

/** The character of a key with Control, which clears the upper bits. */
function controlOf(key: string): string | undefined {
  if (key === "?") return "\u007F";
  const char = /^space$/i.test(key) ? "@" : key.toUpperCase();
  return /^[@-_]$/.test(char) ? String.fromCharCode(char.charCodeAt(0) & 0x1f) : undefined;
}

/** The byte of two hex digits, with `0x` or without. Undefined for any other text. */
function byteOfHex(hex: string): number | undefined {
  const digits = /^(?:0x)?([0-9a-f]{1,2})$/i.exec(hex.trim())?.[1];
  return digits === undefined ? undefined : Number.parseInt(digits, 16);
}

const PASTE_BEGIN = `${ESCAPE}[200~`;
const PASTE_END = `${ESCAPE}[201~`;

/**
 * A text with the marks that a terminal puts around pasted text, so that programs do not take its lines for commands.
 * The text cannot end the mark itself.
 */
const pasted = (text: string): string => `${PASTE_BEGIN}${text.replaceAll(ESCAPE, "")}${PASTE_END}`;
