import type { AgentTool } from "@mariozechner/pi-agent-core";
import { isTorn } from "../../providers/call.ts";
import { errorResult } from "../../tools/define.ts";
import { runTool } from "../../tools/run.ts";
import { toolSchema } from "../../tools/schema.ts";
import type { BoundHooks } from "../../types/hook/hooks.ts";
import type { Log } from "../../types/log.ts";
import type { TranscriptEntry } from "../../types/session.ts";
import type { ChatMessage } from "../../types/run/model.ts";
import type { Aside } from "../../types/media/drawing.ts";
import {
  SEVERITIES,
  type ApprovalDesk,
  type Tool,
  type ToolContext,
  type ToolResult,
  type ApprovalAnswer,
  type ApprovalDecision,
  type ApprovalQuestion,
} from "../../types/run/tool.ts";
import { isUnasked, UNASKED_TEXTS } from "../../types/run/unasked.ts";
import { isFields, type Fields } from "../../utils/fields.ts";
import { fitArguments } from "../../utils/json-schema/fit-arguments.ts";
import type { RunLog } from "../log/run-log.ts";
import type { Deadline } from "../deadline.ts";
import { shownCall, sourcesForCommands, whyUnconfirmed, type UntrustedRules } from "./untrusted.ts";
import { background } from "../../utils/background.ts";
import { asJson } from "../../utils/text/as-json.ts";

/** The part of a tool's context that all calls of one run share; call id and signal come with each call. */
export interface ToolSetting extends Pick<ToolContext, "runId" | "sessionKey" | "agentId" | "workspace" | "approvals"> {
  readonly signal: AbortSignal;
  /** See `RunWaits.beforeTool`. */
  readonly before?: ((callId: string) => Promise<void>) | undefined;
  /** Writes an entry into the transcript that no model sees; resolves when it is on disk. */
  readonly note?: ((name: string, data: Record<string, unknown>) => Promise<unknown>) | undefined;
  /** The hooks of plugins; unset where no plugin can have any. */
  readonly hooks?: BoundHooks | undefined;
  /** The content of others that the conversation has read, with the rules about it. */
  readonly untrusted: UntrustedRules;
  /** The most UTF-16 units of one result; 50 KB when unset. */
  readonly mostChars?: number;
  /** How the tool of this name asks models; no tool can when unset. */
  readonly asideFor?: (tool: string) => Aside;
  /** Gets a warning about a tool that does not end. */
  readonly log: Pick<Log, "warn">;
}

/** A desk whose wait for an approval does not count toward the run's time limit. */
export function pausing(desk: ApprovalDesk, deadline: Deadline): ApprovalDesk {
  return {
    async ask(question, signal) {
      deadline.pause();
      try {
        return await desk.ask(question, signal);
      } finally {
        deadline.resume();
      }
    },
  };
}

const TORN_TEXT =
  "This call was not run: its arguments were cut off before they were complete, or are no JSON object. " +
  "Call the tool again with complete arguments; write long content in several smaller calls.";

/**
 * The arguments of a call, ready for the SDK's validation. The SDK calls this function before that, without a time
 * limit, and takes an error as the call's result.
 */
function checkable(tool: Tool, given: unknown): unknown {
  if (isTorn(given)) throw new Error(TORN_TEXT);
  const { name, slowArguments, prepare } = tool;
  const args = fitArguments(toolSchema(tool), given);
  const why = slowArguments?.(args);
  if (why !== undefined) throw new Error(`The arguments for ${name} do not fit. ${why}`);
  return prepare ? fitArguments(toolSchema(tool), prepare(args)) : args;
}

/** A desk that emits an event for each question that was not asked. */
export function reporting(desk: ApprovalDesk, log: Pick<RunLog, "emit">): ApprovalDesk {
  return {
    async ask(question, signal) {
      const cause = await desk.ask(question, signal);
      if (isUnasked(cause)) log.emit({ type: "approval_unasked", question, cause });
      return cause;
    },
  };
}

/** Name of the transcript's entries that record the state of an approval question. */
const ASKED = "openclaw.approval";

/**
 * A desk that notes in the transcript that a call waits for a person and that the call waits no more, so that after a
 * kill it is known whether the call began.
 */
function noting(desk: ApprovalDesk, callId: string, note: ToolSetting["note"]): ApprovalDesk {
  if (!note) return desk;
  return {
    async ask(question, signal) {
      await note(ASKED, { callId, state: "asked" });
      const answer = await desk.ask(question, signal);
      // `tools.exec.askFallback` lets a command run without an answer too.
      if (answer !== "deny" && answer !== "abort") await note(ASKED, { callId, state: "allowed" });
      return answer;
    },
  };
}

/** The ids of the calls that wait for a person: these calls never began. */
export function unbegunCalls(entries: readonly TranscriptEntry[]): ReadonlySet<string> {
  const waiting = new Set<string>();
  for (const entry of entries) {
    const data = entry.type === "custom" && entry.customType === ASKED ? entry.data : undefined;
    const { callId, state } = isFields(data) ? data : {};
    if (typeof callId !== "string") continue;
    if (state === "asked") waiting.add(callId);
    else waiting.delete(callId);
  }
  return waiting;
}

/** The tool in the SDK's shape. A failed call comes back as a result with `isError` in its details. */
export const toAgentTool = (tool: Tool, setting: ToolSetting): AgentTool => new RunAgentTool(tool, setting);

/** A tool in the SDK's shape; a class, because each run makes all its tools and uses few of them. */
class RunAgentTool implements AgentTool {
  readonly #tool: Tool;
  readonly #setting: ToolSetting;

  constructor(tool: Tool, setting: ToolSetting) {
    this.#tool = tool;
    this.#setting = setting;
  }

  get name(): string {
    return this.#tool.name;
  }

  get label(): string {
    return this.#tool.label;
  }

  get description(): string {
    return this.#tool.description;
  }

  get parameters(): AgentTool["parameters"] {
    return toolSchema(this.#tool);
  }

  /**
   * If one call of an answer has side effects, its calls run one after the other: no call overtakes an approval
   * question or changes a file that the question is about.
   */
  get executionMode(): NonNullable<AgentTool["executionMode"]> {
    return this.#tool.hasSideEffects ? "sequential" : "parallel";
  }

  prepareArguments(args: unknown): unknown {
    return checkable(this.#tool, args);
  }

  async execute(callId: string, params: unknown, given?: AbortSignal, onUpdate?: OnUpdate): Promise<AgentToolResult> {
    const tool = this.#tool;
    if (tool.isClients) return { ...HANDED_OVER, terminate: true };
    const { before, note, hooks, untrusted, asideFor, ...rest } = this.#setting;
    const signal = given ? AbortSignal.any([given, rest.signal]) : rest.signal;
    if (before) await unlessAborted(before(callId), signal);
    const approvals = noting(rest.approvals, callId, note);
    const context = {
      ...rest,
      approvals,
      callId,
      signal,
      ...(hooks?.runner.has("resolve_exec_env") === true && { commandEnv: () => commandEnvFrom(hooks) }),
      untrusted: sourcesForCommands(untrusted),
      aside: asideFor?.(tool.name),
      update: (partial: string) => onUpdate?.({ content: [{ type: "text", text: partial }], details: undefined }),
    };
    const result = await runHooked(tool, params, context, this.#setting);
    await untrusted.content.took(tool.name, result);
    const ends = result.endsTurn === true && result.isError !== true;
    const details = { ...result.details, isError: result.isError === true, ...(ends && { endsTurn: true }) };
    return { content: result.content, details, ...(ends && { terminate: true }) };
  }
}

/** The result of a call that the client makes. The run ends with the call, so a model reads this text only if the run continues. */
const HANDED_OVER: AgentToolResult = {
  content: [{ type: "text", text: "This call was not made, because another call of the same answer failed." }],
  details: { endsTurn: true, isHandedOver: true },
};

/** Whether a message is the result of a call that the client makes. */
export const isHandedOver = (message: ChatMessage): boolean =>
  message.role === "toolResult" && isFields(message.details) && message.details["isHandedOver"] === true;

type AgentToolResult = Awaited<ReturnType<AgentTool["execute"]>>;
type OnUpdate = Parameters<AgentTool["execute"]>[3];

/** Runs the tool between the hooks of its call, if any plugin has them. */
async function runHooked(
  tool: Tool,
  params: unknown,
  context: Parameters<typeof runTool>[2],
  { hooks, untrusted }: ToolSetting,
): Promise<ToolResult> {
  const run = async (asked: unknown) => {
    const why = await whyUnconfirmed(tool, asked, context, untrusted);
    return why === undefined ? runTool(tool, asked, context) : errorResult(`This call was not run: ${why}`);
  };
  if (!hooks || !(hooks.runner.has("before_tool_call") || hooks.runner.has("after_tool_call"))) return run(params);
  const { callId, approvals, workspace, signal } = context;
  const call = { name: tool.name, callId, params };
  const judged = await judgeCall(call, hooks, ({ params: asked, plugin, ...question }) =>
    approvals.ask(
      {
        ...question,
        askedBy: "plugin",
        plugin: { ...plugin, toolName: tool.name },
        command: shownCall(tool.name, asked),
        cwd: workspace,
      },
      signal,
    ),
  );
  if (judged.kind === "blocked") return errorResult(`This call was not run: ${judged.reason}`);
  const began = performance.now();
  const result = await run(judged.params);
  reportCall({ ...call, params: judged.params }, { result, durationMs: performance.now() - began }, hooks);
  return result;
}

/** Resolves with the work, or as soon as the signal aborts. */
async function unlessAborted(work: Promise<void>, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const stop = () => resolve();
  signal.addEventListener("abort", stop, { once: true });
  await Promise.race([work, promise]);
  signal.removeEventListener("abort", stop);
}

interface ToolCall {
  readonly name: string;
  readonly callId: string;
  readonly params: unknown;
}

/** `params`: the arguments as the hooks left them. */
type Judged =
  | { readonly kind: "run"; readonly params: unknown }
  /** The model gets `reason` as the call's result. */
  | { readonly kind: "blocked"; readonly reason: string };

/** A person's answer to a hook's question, in the field's words. */
type Resolution = "allow-once" | "allow-always" | "deny" | "timeout" | "cancelled";

type Answer = ApprovalAnswer;

const RESOLUTIONS: Readonly<Record<ApprovalDecision, Resolution>> = {
  "allow-once": "allow-once",
  "allow-always": "allow-always",
  deny: "deny",
  timeout: "timeout",
  abort: "cancelled",
};

/** A question about a call, as `before_tool_call` wants it asked. */
interface CallQuestion extends Pick<ApprovalQuestion, "allowing" | "plugin"> {
  readonly reason: string;
  readonly params: unknown;
  readonly timeoutMs?: number;
}

interface Question extends Pick<CallQuestion, "reason" | "timeoutMs" | "plugin"> {
  /** The answers that let the call run, where the plugin says which. */
  readonly named?: NonNullable<CallQuestion["allowing"]>;
  resolved(decision: Resolution): void;
}

/**
 * Asks `before_tool_call`: answers are `{params}`, `{block, blockReason}` or `{requireApproval: {title, description,
 * severity, timeoutMs, allowedDecisions, onResolution}}`. Each hook, and the person who is asked, sees the arguments as
 * the hooks before left them. The first question fixes the arguments: the changes of later hooks do not count. `ask`
 * gets the questions.
 */
async function judgeCall(
  call: ToolCall,
  hooks: BoundHooks,
  ask: (question: CallQuestion) => Promise<Answer>,
): Promise<Judged> {
  let { params } = call;
  const questions: Question[] = [];
  const event = () => ({ ...eventOf(call, hooks), params });
  const blocked = await hooks.runner.gate(
    { name: "before_tool_call", event: event(), context: contextOf(call, hooks) },
    {
      refused: (reason) => reason,
      next: event,
      accepts(answer) {
        if (!isFields(answer)) return undefined;
        if (answer["block"] === true) return reasonIn(answer, "blockReason");
        if (isFields(answer["params"]) && questions.length === 0) params = asJson(answer["params"]);
        if (isFields(answer["requireApproval"])) questions.push(questionIn(answer["requireApproval"]));
        return undefined;
      },
    },
  );
  if (blocked !== undefined) return { kind: "blocked", reason: blocked };
  return answered(questions, params, ask);
}

async function answered(
  questions: readonly Question[],
  params: unknown,
  ask: (question: CallQuestion) => Promise<Answer>,
): Promise<Judged> {
  for (const { reason, timeoutMs, plugin, named, resolved } of questions) {
    const asked = {
      reason,
      params,
      ...(plugin && { plugin }),
      ...(timeoutMs && { timeoutMs }),
      ...(named && { allowing: named }),
    };
    // A question without an answer that lets the call run need not be asked.
    const answer = named?.length === 0 ? "deny" : await ask(asked);
    resolved(isUnasked(answer) ? "cancelled" : RESOLUTIONS[answer]);
    if (!(named ?? ALLOWING).some((one) => one === answer))
      return { kind: "blocked", reason: `${refusalOf(answer)}: ${reason}` };
  }
  return { kind: "run", params };
}

const refusalOf = (answer: Answer): string =>
  isUnasked(answer) ? `nobody can be asked about it (${UNASKED_TEXTS[answer]})` : "nobody allowed it";

const eventOf = ({ name, callId, params }: ToolCall, { context: { runId } }: BoundHooks) => ({
  toolName: name,
  toolCallId: callId,
  params,
  ...(runId !== undefined && { runId }),
});

const contextOf = ({ name, callId }: ToolCall, { context }: BoundHooks) => ({
  ...context,
  toolName: name,
  toolCallId: callId,
});

/** Calls `after_tool_call`; nobody waits for the hooks. */
function reportCall(
  call: ToolCall,
  { result, durationMs }: { readonly result: ToolResult; readonly durationMs: number },
  hooks: BoundHooks,
): void {
  const { runner } = hooks;
  if (!runner.has("after_tool_call")) return;
  const text = result.content.map((part) => (part.type === "text" ? part.text : "")).join("\n");
  const event = { ...eventOf(call, hooks), result, durationMs, ...(result.isError === true && { error: text }) };
  runner.notify("after_tool_call", event, contextOf(call, hooks));
}

function reasonIn(answer: Fields, key: string): string {
  const text = answer[key];
  return typeof text === "string" && text !== "" ? text : "a plugin does not allow it";
}

const LEAST_WAIT_MS = 1000;

const ALLOWING = ["allow-once", "allow-always"] as const;

function questionIn(asked: Fields): Question {
  const { title, description, reason, severity, timeoutMs, allowedDecisions, onResolution } = asked;
  const texts = [title, description, reason].filter((text) => typeof text === "string");
  const text = texts.join(": ") || "a plugin wants a person to allow it";
  const decisions: readonly unknown[] | undefined = Array.isArray(allowedDecisions) ? allowedDecisions : undefined;
  const grave = SEVERITIES.find((one) => one === severity);
  return {
    reason: grave === undefined ? text : `${grave}: ${text}`,
    plugin: {
      ...(typeof title === "string" && { title }),
      ...(typeof description === "string" && { description }),
      ...(grave && { severity: grave }),
    },
    ...(typeof timeoutMs === "number" && timeoutMs > 0 && { timeoutMs: Math.max(timeoutMs, LEAST_WAIT_MS) }),
    // No rule of the gateway keeps "always": the plugin, which gets the answer, decides what the answer covers.
    ...(decisions && { named: ALLOWING.filter((answer) => decisions.includes(answer)) }),
    resolved(decision) {
      if (typeof onResolution !== "function") return;
      const told = async () => void (await Reflect.apply(onResolution, undefined, [decision]));
      background("answer to a plugin's question", told());
    },
  };
}

/**
 * Asks `resolve_exec_env` for variables of a command; a later plugin's value replaces an earlier one of the same name.
 */
async function commandEnvFrom({ runner, context }: BoundHooks): Promise<Readonly<Record<string, string>>> {
  const { sessionKey } = context;
  const event = { toolName: "exec" as const, host: "gateway" as const, ...(sessionKey && { sessionKey }) };
  const answers = await runner.ask({ name: "resolve_exec_env", event, context }, variablesIn);
  return Object.fromEntries(answers.flat());
}

function variablesIn(answer: unknown): readonly (readonly [name: string, value: string])[] {
  if (!isFields(answer)) return [];
  return Object.entries(answer).flatMap(([name, value]) =>
    /^[A-Za-z_]\w*$/.test(name) && typeof value === "string" ? [[name, value] as const] : [],
  );
}
