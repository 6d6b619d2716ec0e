import { buildMemorySystemPromptAddition, delegateCompactionToRuntime } from "openclaw/plugin-sdk/core";
import type { AssembleParams, AssembleResult, ContextEngine } from "openclaw/plugin-sdk/core";
import { wholeTurns, type Turn } from "./turns.ts";

/** Tokens that the messages may fill when the gateway names no budget. */
const DEFAULT_BUDGET = 128_000;

/**
 * Shows the newest turns that fit the budget, each of them whole, and says how many messages it left out. It keeps no state
 * of sessions and leaves compaction to the gateway. `maxTokens`: the messages fill at most so many tokens of the budget.
 */
export function createContextWindow(maxTokens = Infinity): ContextEngine {
  return {
    info: { id: "context-window", name: "Context window", version: "1.0.0", ownsCompaction: false },
    // The transcript has every message already.
    ingest: async () => ({ ingested: false }),
    assemble: async (params) => newestThatFit(params, Math.min(params.tokenBudget ?? DEFAULT_BUDGET, maxTokens)),
    compact: (params) => delegateCompactionToRuntime(params),
  };
}

function newestThatFit({ messages, availableTools, citationsMode }: AssembleParams, budget: number): AssembleResult {
  const shown = fitting(wholeTurns(messages), budget);
  const shownMessages = shown.flatMap((turn) => turn.messages);
  const additions = [
    leftOutText(messages.length - shownMessages.length),
    buildMemorySystemPromptAddition({ availableTools: availableTools ?? new Set(), citationsMode }),
  ].filter((text) => text !== undefined);
  return {
    messages: shownMessages,
    estimatedTokens: shown.reduce((sum, turn) => sum + turn.tokens, 0),
    ...(additions.length > 0 && { systemPromptAddition: additions.join("\n\n") }),
  };
}

/** The newest turns within the budget, in their order. The last turn is always among them: the model has to answer it. */
function fitting(turns: readonly Turn[], budget: number): readonly Turn[] {
  let first = turns.length - 1;
  let tokens = turns[first]?.tokens ?? 0;
  for (; first > 0; first--) {
    tokens += turns[first - 1]?.tokens ?? 0;
    if (tokens > budget) break;
  }
  return turns.slice(Math.max(first, 0));
}

const leftOutText = (count: number): string | undefined =>
  count === 0 ? undefined : `${count} earlier messages of this conversation are not shown here.`;
