import type { RunEventBody } from "../../types/run/events.ts";
import type { ModelRef, ThinkLevel } from "../../types/run/model.ts";
import { isSameModel } from "../../types/run/model.ts";
import type {
  FailureKind,
  PromptPart,
  PromptRecord,
  Receipt,
  SideCost,
  Skipped,
  ToolCount,
  ToolError,
  Try,
} from "../../types/run/run.ts";
import type { RemovedTool } from "../../types/tool-policy.ts";
import type { Unasked } from "../../types/run/unasked.ts";
import { addUsage } from "../../types/run/usage.ts";
import { shorten } from "../../utils/text/shorten.ts";

/** The figures of a run's receipt that its log does not count. */
export class RunStats {
  readonly #tries: Try[] = [];
  readonly #tools = new Map<string, Omit<ToolCount, "name">>();
  #open: (Pick<Try, "model" | "profile" | "thinking" | "messages" | "estimatedTokens"> & { since: number }) | undefined;
  #running = 0;
  #lastToolError: ToolError | undefined;
  compactions = 0;
  prompt: PromptRecord | undefined;
  #sideCosts: readonly SideCost[] = [];
  readonly #unasked = new Map<Unasked, number>();
  readonly #removed = new Map<string, RemovedTool>();
  readonly #steered: (readonly PromptPart[])[] = [];

  began(
    facts: {
      model: ModelRef;
      profile?: string;
      thinking: ThinkLevel;
      messages: number;
      estimatedTokens: number;
    },
    now: number,
  ): void {
    this.#open = { ...facts, since: now };
  }

  ended(how: { outcome: "replied" | "aborted" | FailureKind; message?: string }, now: number): void {
    if (!this.#open) return;
    const { since, ...facts } = this.#open;
    this.#open = undefined;
    this.#tries.push({ ...facts, ...how, durationMs: now - since });
  }

  /** Notes the remedy for the last try. */
  remedied(remedy: string): void {
    const last = this.#tries.pop();
    if (last) this.#tries.push({ ...last, remedy });
  }

  addSideCost(cost: SideCost): void {
    this.#sideCosts = addCost(this.#sideCosts, cost);
  }

  /** Notes the parts of a message that joined the run. */
  steered(parts: readonly PromptPart[]): void {
    this.#steered.push(parts);
  }

  /** Notes that a model called a tool that the policy had removed. */
  removed(tool: RemovedTool): void {
    this.#removed.set(tool.tool, tool);
  }

  /** Whether a tool call has begun and not ended. */
  get isToolRunning(): boolean {
    return this.#running > 0;
  }

  note(event: RunEventBody): void {
    if (event.type === "tool_start") this.#running += 1;
    if (event.type === "tool_end") this.#ended(event);
    if (event.type === "approval_unasked") this.#unasked.set(event.cause, (this.#unasked.get(event.cause) ?? 0) + 1);
  }

  #ended({ name, isError, durationMs, text, meta, elevated }: RunEventBody & { type: "tool_end" }): void {
    this.#running = Math.max(0, this.#running - 1);
    if (isError) this.#lastToolError = toolError(name, meta, text);
    const before = this.#tools.get(name) ?? { calls: 0, failed: 0, ms: 0 };
    this.#tools.set(name, {
      ...before,
      calls: before.calls + 1,
      failed: before.failed + (isError ? 1 : 0),
      ms: before.ms + durationMs,
      ...(elevated === true && { elevated: (before.elevated ?? 0) + 1 }),
    });
  }

  close(candidates: readonly ModelRef[], skipped: readonly Skipped[]): Partial<Receipt> {
    const tools: ToolCount[] = [...this.#tools].map(([name, count]) => ({ name, ...count }));
    const unasked = [...this.#unasked].map(([cause, calls]) => ({ cause, calls }));
    const profile = this.#tries.at(-1)?.profile;
    return {
      candidates,
      tries: this.#tries,
      skipped,
      tools,
      ...(this.#lastToolError && { lastToolError: this.#lastToolError }),
      ...(unasked.length > 0 && { unasked }),
      ...(this.#removed.size > 0 && { removed: [...this.#removed.values()] }),
      compactions: this.compactions,
      ...(this.#sideCosts.length > 0 && { beside: this.#sideCosts }),
      ...(this.#steered.length > 0 && { steered: this.#steered }),
      ...(profile !== undefined && { profile }),
      ...(this.prompt && { prompt: this.prompt }),
    };
  }
}

/** The most UTF-16 units of a failed call's text in the receipt. */
const MOST_ERROR = 400;

function toolError(toolName: string, meta: string | undefined, text: string): ToolError {
  const error = shorten(text.replaceAll(/[\p{Cc}\s]+/gu, " ").trim(), MOST_ERROR);
  return { toolName, ...(meta !== undefined && { meta }), ...(error !== "" && { error }) };
}

/** The costs with another one; they have one row for each model, purpose, plugin and tool. */
export function addCost(costs: readonly SideCost[], cost: SideCost): readonly SideCost[] {
  const { what, plugin, tool, model, calls, usage } = cost;
  const isSame = (one: SideCost) =>
    one.what === what && one.plugin === plugin && one.tool === tool && isSameModel(one.model, model);
  if (!costs.some(isSame)) return [...costs, cost];
  return costs.map((one) =>
    isSame(one) ? { ...one, calls: one.calls + calls, usage: addUsage(one.usage, usage) } : one,
  );
}
