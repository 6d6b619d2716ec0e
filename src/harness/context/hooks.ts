import type { BoundHooks, HookContext, HookRunner, PromptAdditions } from "../../types/hook/hooks.ts";
import type { ChatMessage } from "../../types/run/model.ts";
import type { Failure, RunResult } from "../../types/run/run.ts";
import { estimateTextTokens } from "../../sessions/transcript/tokens.ts";
import { isFields } from "../../utils/fields.ts";
import { historyWindow } from "./context.ts";
import type { RunDeps, RunRequest } from "../request.ts";
import { isToolAllowed } from "../../tools/policy/decide.ts";
import { runCap } from "../../tools/policy/stages.ts";
import type { Tool } from "../../types/run/tool.ts";

/**
 * Hooks that shape a prompt, in the order in which they are asked; the last one is the older name of the one before.
 */
const SHAPING = ["agent_turn_prepare", "before_prompt_build", "before_agent_start"] as const;

/** The hooks as this run calls them; undefined where there are no plugins. */
export const boundHooks = (request: RunRequest, { hooks }: Pick<RunDeps, "hooks">): BoundHooks | undefined =>
  hooks && { runner: hooks, context: contextOf(request) };

/** The additions of hooks to this run; undefined without such hooks. */
export async function askHooks(
  request: RunRequest,
  { hooks }: Pick<RunDeps, "hooks">,
  history: HistoryReader,
): Promise<PromptAdditions | undefined> {
  if (!hooks) return undefined;
  const answers = [...(await heartbeatAdditions(request, hooks))];
  const asked = SHAPING.filter((name) => hooks.has(name));
  if (asked.length > 0) {
    const event = { prompt: request.turn.text, messages: await history() };
    for (const name of asked)
      answers.push(...(await hooks.ask({ name, event, context: contextOf(request) }, additionsIn)));
  }
  if (answers.length === 0) return undefined;
  return answers.reduce(joinAdditions, {});
}

async function heartbeatAdditions(request: RunRequest, hooks: HookRunner): Promise<readonly PromptAdditions[]> {
  const { sessionKey, agentId, trigger } = request.facts;
  if (trigger !== "heartbeat" || !hooks.has("heartbeat_prompt_contribution")) return [];
  const event = { sessionKey, agentId };
  return hooks.ask({ name: "heartbeat_prompt_contribution", event, context: contextOf(request) }, additionsIn);
}

/** The conversation before the run, as its first model would see it. */
export type HistoryReader = () => Promise<readonly ChatMessage[]>;

/** Reads the conversation when a hook wants it, and once for all hooks. */
export function historyFor(request: RunRequest, models: RunDeps["models"]): HistoryReader {
  let read: Promise<readonly ChatMessage[]> | undefined;
  return () => (read ??= messagesFor(request, models));
}

async function messagesFor(request: RunRequest, models: RunDeps["models"]): Promise<readonly ChatMessage[]> {
  const [first] = request.choice.candidates;
  const handle = first && (await models.find(first));
  return handle && !("missing" in handle) ? historyWindow(handle, request) : [];
}

/** The failure of a run that a hook does not let begin; undefined when all hooks let it begin. */
export async function whyBlocked(
  request: RunRequest,
  { hooks }: Pick<RunDeps, "hooks">,
  history: HistoryReader,
): Promise<Failure | undefined> {
  if (hooks?.has("before_agent_run") !== true) return undefined;
  const event = { prompt: request.turn.text, messages: await history() };
  return hooks.gate(
    { name: "before_agent_run", event, context: contextOf(request) },
    { accepts: blockIn, refused: (message) => ({ kind: "blocked", message }) },
  );
}

/**
 * The failure in a hook's answer `{outcome: "block", reason, message}`: the reason is for the operator, the message for
 * the person who wrote.
 */
function blockIn(answer: unknown): Failure | undefined {
  if (!isFields(answer) || answer["outcome"] !== "block") return undefined;
  const [reason, notice] = [answer["reason"], answer["message"]].map((text) =>
    typeof text === "string" && text.trim() !== "" ? text.slice(0, MOST_NOTICE) : undefined,
  );
  const message = reason ?? notice ?? "a plugin does not allow it";
  return { kind: "blocked", message, ...(notice !== undefined && { notice }) };
}

/** The most UTF-16 units of a plugin's text about a run that it does not allow. */
const MOST_NOTICE = 2000;

/** The turn with the hooks' additions, as the transcript keeps it. */
export function addToTurn(request: RunRequest, added: PromptAdditions): RunRequest {
  const { turn } = request;
  const text = joined(added.prependContext, turn.text, added.appendContext);
  if (text === turn.text) return request;
  const own = [added.prependContext, added.appendContext].filter((part) => part !== undefined).join("");
  const part = { name: "hooks", source: "plugins", tokens: estimateTextTokens(own) };
  return { ...request, turn: { ...turn, text, parts: [...(turn.parts ?? []), part] } };
}

/** The run with the system prompt and the tools that hooks leave it. */
export const addToRun = (request: RunRequest, added: PromptAdditions): RunRequest =>
  addToSystem(capTools(request, added), added);

function addToSystem(request: RunRequest, added: PromptAdditions): RunRequest {
  const { systemPrompt, prependSystemContext: before, appendSystemContext: after } = added;
  if (systemPrompt === undefined && before === undefined && after === undefined) return request;
  const part = (text: string) => ({ name: "hooks", source: "plugins", tokens: estimateTextTokens(text) });
  return {
    ...request,
    systemPrompt: async (model, tools) => {
      const own = systemPrompt === undefined ? await request.systemPrompt(model, tools) : undefined;
      const text = own?.text ?? systemPrompt ?? "";
      return {
        text: joined(before, text, after),
        parts: [
          ...(before === undefined ? [] : [part(before)]),
          ...(own?.parts ?? [part(text)]),
          ...(after === undefined ? [] : [part(after)]),
        ],
      };
    },
  };
}

export function notifyEnd(
  request: RunRequest,
  hooks: HookRunner,
  end: { readonly result: RunResult; readonly durationMs: number; readonly messages: readonly ChatMessage[] },
): void {
  const { result, durationMs, messages } = end;
  const error = result.kind === "failed" && { error: result.failure.message };
  hooks.notify("agent_end", { messages, durationMs, success: result.kind === "replied", ...error }, contextOf(request));
}

/** The context with which the hooks of a run are called. */
function contextOf({ facts, settings, channel }: RunRequest): HookContext {
  const { agentId, sessionKey, sessionId, runId, trigger } = facts;
  const provider = channel !== undefined && { messageProvider: channel, channelId: channel };
  return { agentId, sessionKey, sessionId, runId, trigger, workspaceDir: settings.workspace, ...provider };
}

const joined = (...texts: (string | undefined)[]): string =>
  texts.filter((text) => text !== undefined && text !== "").join("\n\n");

const TEXTS = ["prependContext", "appendContext", "prependSystemContext", "appendSystemContext"] as const;

/** The additions in a hook's answer; a value that is no text counts as missing. */
function additionsIn(answer: unknown): PromptAdditions {
  if (!isFields(answer)) return {};
  const named = [...TEXTS, "systemPrompt"].flatMap((key) => {
    const text = answer[key];
    return typeof text === "string" && text !== "" ? [[key, text] as const] : [];
  });
  const { toolsAllow } = answer;
  const names = Array.isArray(toolsAllow) ? toolsAllow.filter((name) => typeof name === "string") : undefined;
  return { ...Object.fromEntries(named), ...(names && { toolCaps: [names] }) };
}

/**
 * Joins the texts of several answers by an empty line. A later `systemPrompt` replaces an earlier one, and the lists of
 * tools all hold.
 */
function joinAdditions(all: PromptAdditions, one: PromptAdditions): PromptAdditions {
  const joined = TEXTS.map((key) => {
    const texts = [all[key], one[key]].filter((text) => text !== undefined);
    return [key, texts.join("\n\n")] as const;
  });
  const systemPrompt = one.systemPrompt ?? all.systemPrompt;
  const toolCaps = [...(all.toolCaps ?? []), ...(one.toolCaps ?? [])];
  return {
    ...Object.fromEntries(joined.filter(([, text]) => text !== "")),
    ...(systemPrompt !== undefined && { systemPrompt }),
    ...(toolCaps.length > 0 && { toolCaps }),
  };
}

/**
 * The run with the tools that the hooks leave it, on every model. The name of a tool that the run does not have adds
 * none.
 */
function capTools(request: RunRequest, { toolCaps = [] }: PromptAdditions): RunRequest {
  if (toolCaps.length === 0) return request;
  const stages = toolCaps.flatMap((names) => runCap(names));
  const left = (tools: readonly Tool[]) => tools.filter(({ name }) => isToolAllowed({ name }, stages));
  const { toolsOn, removed } = request;
  const tools = left(request.tools);
  const capped = new Set(request.tools.filter((tool) => !tools.includes(tool)).map(({ name }) => name));
  return {
    ...request,
    tools,
    removed: (name, model) =>
      capped.has(name) ? { tool: name, stage: "run", key: "toolsAllow of a plugin" } : removed?.(name, model),
    ...(toolsOn && { toolsOn: (model) => left(toolsOn(model)) }),
  };
}
