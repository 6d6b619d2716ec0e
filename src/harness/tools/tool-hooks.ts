import type { BoundHooks } from "../../types/hook/hooks.ts";
import type { ApprovalAnswer, ApprovalDecision, ApprovalQuestion, ToolResult } from "../../types/run/tool.ts";
import { isUnasked, UNASKED_TEXTS } from "../../types/run/unasked.ts";
import { background } from "../../utils/background.ts";
import { asJson } from "../../utils/text/as-json.ts";
import { isFields, type Fields } from "../../utils/fields.ts";

interface ToolCall {
  readonly name: string;
  readonly callId: string;
  readonly params: unknown;
}

/** `params`: as the hooks left them. */
export type Judged =
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
export interface CallQuestion extends Pick<ApprovalQuestion, "allowing"> {
  readonly reason: string;
  readonly params: unknown;
  readonly timeoutMs?: number;
}

interface Question extends Pick<CallQuestion, "reason" | "timeoutMs"> {
  /** The answers that let the call run, where the plugin says which. */
  readonly named?: NonNullable<CallQuestion["allowing"]>;
  resolved(decision: Resolution): void;
}

/**
 * Asks `before_tool_call`: answers are `{params}`, `{block, blockReason}` or `{requireApproval: {title, description, severity,
 * timeoutMs, allowedDecisions, onResolution}}`. Each hook, and the person who is asked, sees the arguments as the hooks before
 * left them. The first question fixes the arguments: nothing that a later hook changes in them counts. `ask` gets the questions.
 */
export async function judgeCall(
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
  for (const { reason, timeoutMs, named, resolved } of questions) {
    const asked = { reason, params, ...(timeoutMs && { timeoutMs }), ...(named && { allowing: named }) };
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

/** Calls `after_tool_call`; nobody waits for it. */
export function reportCall(
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

const SEVERITIES: readonly unknown[] = ["info", "warning", "critical"];

function questionIn(asked: Fields): Question {
  const { title, description, reason, severity, timeoutMs, allowedDecisions, onResolution } = asked;
  const texts = [title, description, reason].filter((text) => typeof text === "string");
  const text = texts.join(": ") || "a plugin wants a person to allow it";
  const decisions: readonly unknown[] | undefined = Array.isArray(allowedDecisions) ? allowedDecisions : undefined;
  return {
    reason: SEVERITIES.includes(severity) ? `${String(severity)}: ${text}` : text,
    ...(typeof timeoutMs === "number" && timeoutMs > 0 && { timeoutMs: Math.max(timeoutMs, LEAST_WAIT_MS) }),
    // No rule of the gateway keeps "always": the plugin, which gets the answer, decides what it covers.
    ...(decisions && { named: ALLOWING.filter((answer) => decisions.includes(answer)) }),
    resolved(decision) {
      if (typeof onResolution !== "function") return;
      const told = async () => void (await Reflect.apply(onResolution, undefined, [decision]));
      background("answer to a plugin's question", told());
    },
  };
}

/** Asks `resolve_exec_env` for variables of a command; a later plugin's value of the same name wins. */
export async function commandEnvFrom({ runner, context }: BoundHooks): Promise<Readonly<Record<string, string>>> {
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
