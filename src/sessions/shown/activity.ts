import type { ShownActivity, ShownMessage } from "../../types/session.ts";
import { isFields } from "../../utils/fields.ts";

/** A call of a tool, or the result of one, in a message. */
interface Step {
  readonly kind: "call" | "result";
  readonly callId: string;
  readonly name: string;
  readonly arguments?: unknown;
  readonly isError?: boolean | undefined;
}

/** What a message has of tools. `group`: the calls and results of one turn that have the same id. */
interface Placed extends Step {
  readonly group: string;
}

/** A call with its result, as far as the messages have both. */
interface Known {
  readonly call?: Step;
  readonly result?: Step;
}

/**
 * What the tools did, by message: each message with calls or results has an entry, with one item for each of its calls. Clients show
 * an item in place of the result's text. A step that is of no interest to a reader, such as a look whether a command still runs, has no item.
 */
export function activityOf(messages: readonly ShownMessage[]): readonly ShownActivity[] {
  let turn = 0;
  const placed = messages.map((message) => {
    if (message.role === "user") turn += 1;
    const run = message.__openclaw?.runId ?? "";
    return stepsIn(message).map((step): Placed => ({ ...step, group: JSON.stringify([turn, run, step.callId]) }));
  });
  const groups = Map.groupBy(placed.flat(), ({ group }) => group);
  return messages.flatMap((message, at) => {
    const steps = placed[at] ?? [];
    if (steps.length === 0) return [];
    const items = new Map(steps.map((step) => [step.callId, itemOf(knownOf(step, groups.get(step.group) ?? []))]));
    return [
      { messageId: message.__openclaw?.id ?? "", items: [...items.values()].filter((item) => item !== undefined) },
    ];
  });
}

function stepsIn(message: ShownMessage): readonly Step[] {
  const { role, content, toolCallId, toolName = "tool", isError } = message;
  if (role === "toolResult")
    return toolCallId === undefined ? [] : [{ kind: "result", callId: toolCallId, name: toolName, isError }];
  if (role !== "assistant" || typeof content === "string") return [];
  return content.flatMap((part): readonly Step[] => {
    const { type, id, name, arguments: args } = part;
    if (type !== "toolCall" || typeof id !== "string" || typeof name !== "string") return [];
    return [{ kind: "call", callId: id, name, arguments: args }];
  });
}

/** Some models give the same id to several calls: then nothing says which result belongs to which call. */
function knownOf(step: Step, group: readonly Step[]): Known {
  const calls = group.filter(({ kind }) => kind === "call");
  const results = group.filter(({ kind }) => kind === "result");
  if (calls.length > 1 || results.length > 1) return step.kind === "call" ? { call: step } : { result: step };
  const [call] = calls;
  const [result] = results;
  return { ...(call && { call }), ...(result && { result }) };
}

function itemOf({ call, result }: Known): ShownActivity["items"][number] | undefined {
  const { name, callId } = call ?? result ?? { name: "tool", callId: "" };
  const isFailed = result?.isError === true;
  if (result !== undefined && !isFailed && isWaiting(name, call?.arguments)) return undefined;
  const title = titleOf(name);
  const outcome =
    result === undefined
      ? { title: `${title} — outcome unknown`, summary: "Outcome unknown" }
      : { title, status: isFailed ? ("failed" as const) : ("completed" as const) };
  const base = { itemId: `tool:${callId}`, toolCallId: callId, name, kind: "tool", phase: "end" as const };
  return { ...base, ...outcome, commandBearing: COMMANDS.has(name) };
}

/** Tools whose calls are commands. */
const COMMANDS: ReadonlySet<string> = new Set(["exec", "bash", "shell"]);
/** Tools that only tell how far the work is, or wait. */
const QUIET: ReadonlySet<string> = new Set(["update_plan", "sessions_yield"]);

const isWaiting = (name: string, args: unknown): boolean =>
  QUIET.has(name) || (name === "process" && isFields(args) && args["action"] === "poll");

/** The titles that are not made of the tool's name. */
const TITLES: Readonly<Record<string, string>> = {
  agents_list: "Agents",
  image_generate: "Image Generation",
  pdf: "PDF",
  sessions_history: "Session History",
  sessions_list: "Sessions",
  sessions_send: "Session Send",
  sessions_spawn: "Sub-agent",
  sessions_yield: "Yield",
  tts: "TTS",
};

function titleOf(name: string): string {
  const own = Object.hasOwn(TITLES, name) ? TITLES[name] : undefined;
  if (own !== undefined) return own;
  const words = name.split(/[_\s]+/).filter((word) => word !== "");
  return words.length === 0
    ? "Tool"
    : words.map((word) => `${word.at(0)?.toUpperCase() ?? ""}${word.slice(1)}`).join(" ");
}
