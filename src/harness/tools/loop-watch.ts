import type { AgentEvent } from "@mariozechner/pi-agent-core";
import { LOOP_WARNING, type LoopGuard, type SeenCall } from "./loop-guard.ts";

type ResultMessage = Extract<Extract<AgentEvent, { type: "message_end" }>["message"], { role: "toolResult" }>;

/**
 * Feeds a run's guard from the events of one attempt, where every result passes: also that of a call which never reached
 * its tool.
 */
export class LoopWatch {
  readonly #guard: LoopGuard;
  readonly #args = new Map<string, unknown>();
  readonly #ran = new Set<string>();

  constructor(guard: LoopGuard) {
    this.#guard = guard;
  }

  /** The call was valid, and its tool ran. */
  ran(callId: string): void {
    this.#ran.add(callId);
  }

  /** Before the event is written down: a result may be given a warning for the model. True when the attempt is to end. */
  take(event: AgentEvent): boolean {
    if (event.type === "tool_execution_start") this.#args.set(event.toolCallId, event.args);
    if (event.type === "message_end" && event.message.role === "toolResult") this.#judge(event.message);
    if (event.type !== "turn_end") return false;
    this.#guard.endTurn();
    return this.#guard.stoppedBy !== undefined;
  }

  #judge(message: ResultMessage): void {
    const args = this.#args.get(message.toolCallId);
    const isRefused = !this.#ran.has(message.toolCallId);
    this.#args.delete(message.toolCallId);
    this.#ran.delete(message.toolCallId);
    const { toolName: name, content } = message;
    const seen: [SeenCall, string] = isRefused
      ? [{ name, args: undefined }, refusalOf(message, args)]
      : [{ name, args }, JSON.stringify(content)];
    if (this.#guard.saw(...seen)) message.content = [...content, { type: "text", text: LOOP_WARNING }];
  }
}

/** Why a call was refused, without the arguments that the SDK quotes: new arguments do not make it another call. */
function refusalOf({ content }: ResultMessage, args: unknown): string {
  const text = content.map((part) => (part.type === "text" ? part.text : part.type)).join("\n");
  const echo = JSON.stringify(args, null, 2);
  return echo === undefined ? text : text.replace(echo, "");
}
