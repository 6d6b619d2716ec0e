import type { AgentEvent } from "@mariozechner/pi-agent-core";
import type { AssistantMessage, ToolResultMessage } from "../../../types/run/model.ts";
import type { Tool } from "../../../types/run/tool.ts";
import { isFields } from "../../../utils/fields.ts";
import type { LoopFound, LoopGuard, LoopVerdict, SeenCall } from "./guard.ts";
import { callKey, callOutcome } from "./outcome.ts";

/**
 * Gives a run's guard the calls of one attempt, from its events, where every result passes: also the result of a call
 * that never reached its tool.
 */
export class ToolLoopWatch {
  readonly #guard: LoopGuard;
  readonly #tools: readonly Pick<Tool, "name" | "hasSideEffects">[];
  readonly #args = new Map<string, unknown>();
  readonly #ran = new Set<string>();
  /** Why the calls of the latest answer are blocked. */
  #blocked: LoopFound | undefined;

  constructor(guard: LoopGuard, tools: readonly Pick<Tool, "name" | "hasSideEffects">[]) {
    this.#guard = guard;
    this.#tools = tools;
  }

  /**
   * Called before a valid call runs. The text that the model gets instead of the call's result; undefined when the call
   * may run.
   */
  refusal(): string | undefined {
    return this.#blocked && blockText(this.#blocked);
  }

  /** Called when the call was valid and its tool ran. */
  ran(callId: string): void {
    this.#ran.add(callId);
  }

  /**
   * Called before an event is written down, because a result may get a warning for the model. True when the attempt is
   * to end.
   */
  take(event: AgentEvent): boolean {
    if (event.type === "tool_execution_start") this.#args.set(event.toolCallId, event.args);
    if (event.type === "message_end" && event.message.role === "assistant") this.#judgeAnswer(event.message);
    if (event.type === "message_end" && event.message.role === "toolResult") this.#judge(event.message);
    if (event.type !== "turn_end") return false;
    this.#guard.endTurn();
    return this.#guard.stoppedBy !== undefined;
  }

  #judgeAnswer({ content }: AssistantMessage): void {
    const calls = content.flatMap((part) => (part.type === "toolCall" ? [part] : []));
    this.#blocked = this.#guard.block(
      calls.map(({ name, arguments: args }) => ({ tool: name, key: callKey(name, args) })),
    );
  }

  #judge(message: ToolResultMessage): void {
    const { toolCallId, content } = message;
    const args = this.#args.get(toolCallId);
    const hasRun = this.#ran.delete(toolCallId);
    this.#args.delete(toolCallId);
    // A blocked call is counted already.
    if (this.#blocked && !hasRun) return;
    const verdict = this.#guard.saw(hasRun ? this.#runOf(message, args) : this.#refusedOf(message, args));
    if (verdict) message.content = [...content, { type: "text", text: warningText(verdict) }];
  }

  #runOf(message: ToolResultMessage, args: unknown): SeenCall {
    const { toolName: tool } = message;
    const outcome = callOutcome(message);
    const isEffective = this.#toolOf(tool)?.hasSideEffects === true && !message.isError && outcome !== "unchanged";
    return { tool, key: callKey(tool, args), outcome, kind: "ran", isPoll: isPoll(tool, args), isEffective };
  }

  #toolOf(name: string): Pick<Tool, "hasSideEffects"> | undefined {
    return this.#tools.find((tool) => tool.name === name);
  }

  #refusedOf(message: ToolResultMessage, args: unknown): SeenCall {
    const { toolName: tool } = message;
    const kind = this.#toolOf(tool) ? "refused" : "unknown";
    return { tool, key: `${kind} ${tool}`, outcome: refusalOf(message, args), kind, isPoll: false, isEffective: false };
  }
}

/** Whether a call looks at a background process. */
const isPoll = (tool: string, args: unknown): boolean =>
  tool === "process" && isFields(args) && (args["action"] === "poll" || args["action"] === "log");

/** Why a call was refused, without the arguments that the SDK quotes: new arguments do not make it another call. */
function refusalOf({ content }: ToolResultMessage, args: unknown): string {
  const text = content.map((part) => (part.type === "text" ? part.text : part.type)).join("\n");
  const echo = JSON.stringify(args, null, 2);
  return echo === undefined ? text : text.replace(echo, "");
}

const ADVICE = "Change the approach, or tell the user what is missing.";

/** The text that is appended to a result that is part of a loop. */
const warningText = ({ level, detector, tool, count }: LoopVerdict): string =>
  level === "warning"
    ? `[Loop warning (${detector}): ${count} steps without anything new, the last one a call of ${tool}. ${ADVICE}]`
    : `[Loop (${detector}): ${count} calls of ${tool} in this way. ${ADVICE} One more, and the run ends.]`;

const blockText = ({ detector, tool, count }: LoopFound): string =>
  `No call of this answer was run (${detector}): ${count} steps in a row brought nothing new, the last one a call of ${tool}. ${ADVICE} ` +
  "If the next answer repeats it, the run ends.";
