import type { BoundHooks } from "../../types/hook/hooks.ts";
import type { ApprovalDesk, ToolResult } from "../../types/run/tool.ts";
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

type Answer = Awaited<ReturnType<ApprovalDesk["ask"]>>;

const RESOLUTIONS: Readonly<Record<Answer, Resolution>> = {
  "allow-once": "allow-once",
  "allow-always": "allow-always",
  deny: "deny",
  timeout: "timeout",
  abort: "cancelled",
  unshown: "cancelled",
};

interface Question {
  readonly text: string;
  resolved(decision: Resolution): void;
}

/**
 * Asks `before_tool_call`: answers are `{params}`, `{block, blockReason}` or
 * `{requireApproval: {title, description, onResolution}}`. Each hook, and the person who is asked, sees the arguments as the
 * hooks before left them. `ask` gets the question with these.
 */
export async function judgeCall(
  call: ToolCall,
  hooks: BoundHooks,
  ask: (reason: string, params: unknown) => Promise<Answer>,
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
        if (isFields(answer["params"])) params = asJson(answer["params"]);
        if (isFields(answer["requireApproval"])) questions.push(questionIn(answer["requireApproval"]));
        return undefined;
      },
    },
  );
  if (blocked !== undefined) return { kind: "blocked", reason: blocked };
  for (const { text, resolved } of questions) {
    const answer = await ask(text, params);
    resolved(RESOLUTIONS[answer]);
    if (answer !== "allow-once" && answer !== "allow-always")
      return { kind: "blocked", reason: `nobody allowed it: ${text}` };
  }
  return { kind: "run", params };
}

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

function questionIn(asked: Fields): Question {
  const { title, description, reason, onResolution } = asked;
  const texts = [title, description, reason].filter((text) => typeof text === "string");
  return {
    text: texts.join(": ") || "a plugin wants a person to allow it",
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
