import type { BoundHooks } from "../../types/hook/hooks.ts";
import type { ApprovalDesk, ToolResult } from "../../types/run/tool.ts";
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

/** Asks `before_tool_call`: answers are `{params}`, `{block, blockReason}` or `{requireApproval: {title, description}}`. */
export async function judgeCall(
  { name, callId, params }: ToolCall,
  { runner, context }: BoundHooks,
  ask: (reason: string) => ReturnType<ApprovalDesk["ask"]>,
): Promise<Judged> {
  let current = params;
  const questions: string[] = [];
  const blocked = await runner.gate(
    { name: "before_tool_call", event: { toolName: name, toolCallId: callId, params }, context },
    {
      refused: (reason) => reason,
      accepts(answer) {
        if (!isFields(answer)) return undefined;
        if (answer["block"] === true) return reasonIn(answer, "blockReason");
        if (isFields(answer["params"])) current = answer["params"];
        if (isFields(answer["requireApproval"])) questions.push(questionIn(answer["requireApproval"]));
        return undefined;
      },
    },
  );
  if (blocked !== undefined) return { kind: "blocked", reason: blocked };
  for (const question of questions) {
    const answer = await ask(question);
    if (answer !== "allow-once" && answer !== "allow-always")
      return { kind: "blocked", reason: `nobody allowed it: ${question}` };
  }
  return { kind: "run", params: current };
}

/** Calls `after_tool_call`; nobody waits for it. */
export function reportCall(
  { name, callId, params }: ToolCall,
  { result, durationMs }: { readonly result: ToolResult; readonly durationMs: number },
  { runner, context }: BoundHooks,
): void {
  if (!runner.has("after_tool_call")) return;
  const text = result.content.map((part) => (part.type === "text" ? part.text : "")).join("\n");
  const event = { toolName: name, toolCallId: callId, params, result, durationMs };
  runner.notify("after_tool_call", { ...event, ...(result.isError === true && { error: text }) }, context);
}

function reasonIn(answer: Fields, key: string): string {
  const text = answer[key];
  return typeof text === "string" && text !== "" ? text : "a plugin does not allow it";
}

function questionIn(asked: Fields): string {
  const texts = [asked["title"], asked["description"], asked["reason"]].filter((text) => typeof text === "string");
  return texts.join(": ") || "a plugin wants a person to allow it";
}

/** Asks `resolve_exec_env` for variables of a command; a later plugin's value of the same name wins. */
export async function commandEnvFrom({ runner, context }: BoundHooks): Promise<Readonly<Record<string, string>>> {
  const { sessionKey } = context;
  const event = { toolName: "exec" as const, host: "gateway" as const, ...(sessionKey && { sessionKey }) };
  const answers = await runner.ask("resolve_exec_env", event, context);
  const given = answers.filter(isFields).flatMap((answer) => Object.entries(answer));
  return Object.fromEntries(
    given.flatMap(([name, value]) => (/^[A-Za-z_]\w*$/.test(name) && typeof value === "string" ? [[name, value]] : [])),
  );
}
