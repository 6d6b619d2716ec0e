import type { AgentTool, AgentToolResult } from "@mariozechner/pi-agent-core";
import { loadPi } from "../../providers/pi.ts";
import { BoundedMap } from "../../utils/bounded-map.ts";
import type { SessionKey } from "../../types/ids.ts";
import type { LoopSettings } from "../../types/loops.ts";
import type { Tool, ToolResult } from "../../types/run/tool.ts";
import { isFields, type Fields } from "../../utils/fields.ts";
import { LoopGuard } from "./loops/guard.ts";
import { callKey, callOutcome } from "./loops/outcome.ts";
import { toAgentTool, type ToolSetting } from "./tools.ts";

/** A call whose arguments fit the tool, or why they do not. */
export type CheckedCall =
  | { readonly kind: "fits"; run(callId: string, update: (partial: string) => void): Promise<ToolResult> }
  | { readonly kind: "invalid"; readonly why: string };

/**
 * Checks a call of a tool outside of a model's loop, as that loop checks its calls. The call runs with every guard of a
 * run's tools.
 */
export async function checkCall(tool: Tool, args: Fields, setting: ToolSetting): Promise<CheckedCall> {
  const { validateToolArguments } = await loadPi();
  const agentTool = toAgentTool(tool, setting);
  try {
    const prepared: unknown = agentTool.prepareArguments?.(args) ?? args;
    const fields = isFields(prepared) ? prepared : {};
    const call = { type: "toolCall" as const, id: "", name: tool.name, arguments: fields };
    const params: unknown = validateToolArguments(agentTool, call);
    const checked = tool.input.safeParse(params);
    if (!checked.success) return { kind: "invalid", why: checked.error.issues.map(issueText).join("; ") };
    return { kind: "fits", run: (callId, update) => run(agentTool, params, callId, update) };
  } catch (error) {
    return { kind: "invalid", why: error instanceof Error ? error.message : String(error) };
  }
}

const issueText = ({ path, message }: { readonly path: readonly PropertyKey[]; readonly message: string }): string =>
  `${path.map(String).join(".") || "args"}: ${message}`;

async function run(
  tool: AgentTool,
  params: unknown,
  callId: string,
  update: (partial: string) => void,
): Promise<ToolResult> {
  const { content, details } = await tool.execute(callId, params, undefined, (partial) => update(textOf(partial)));
  const { isError, ...rest }: Fields = isFields(details) ? details : {};
  return { content, details: rest, ...(isError === true && { isError: true }) };
}

const textOf = ({ content }: AgentToolResult<unknown>): string =>
  content.map((part) => (part.type === "text" ? part.text : "")).join("");

/** The most sessions whose calls are remembered: the sessions of the latest calls. */
const MOST_SESSIONS = 200;
/** Milliseconds without a call after which a session's calls are forgotten. */
const FORGOTTEN_MS = 60_000;

/**
 * Notices a client that repeats one call without progress: a run's limits hold for all calls of a session that follow
 * each other.
 */
export class CallLoops {
  readonly #guards = new BoundedMap<SessionKey, { readonly guard: LoopGuard; readonly at: number }>(MOST_SESSIONS);

  /** The guard of the session's calls; a new one when the last call is long ago. */
  of(key: SessionKey, limits: LoopSettings | undefined, now: number): LoopGuard {
    const known = this.#guards.get(key);
    const guard = known && now - known.at < FORGOTTEN_MS ? known.guard : new LoopGuard(limits);
    this.#guards.set(key, { guard, at: now });
    return guard;
  }
}

/** Why the guard does not let the call run; undefined when the guard lets it run. */
export function whyLooping(guard: LoopGuard, tool: string, args: unknown): string | undefined {
  const found = guard.block([{ tool, key: callKey(tool, args) }]);
  return found && `${found.detector}: ${found.count} calls of ${found.tool} in a row brought nothing new`;
}

/** Gives the outcome of a call to the guard. */
export function noteCall(
  guard: LoopGuard,
  { name: tool, hasSideEffects }: Tool,
  args: unknown,
  result: ToolResult,
): void {
  const { content, details, isError = false } = result;
  const outcome = callOutcome({ content, details, isError });
  const isEffective = hasSideEffects && !isError && outcome !== "unchanged";
  guard.saw({ tool, key: callKey(tool, args), outcome, kind: "ran", isPoll: false, isEffective });
  guard.endTurn();
}
