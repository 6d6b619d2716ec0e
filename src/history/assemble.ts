import type { ChatMessage, UserMessage } from "../types/run/model.ts";
import type { SessionWindow } from "../types/session.ts";
import { partsOf } from "./parts.ts";
import { applyPasses } from "./passes.ts";
import { joinUserTurns } from "./passes/turns.ts";
import type { TranscriptPolicy } from "../providers/quirks.ts";

export interface Assembled {
  readonly messages: ChatMessage[];
  readonly estimatedTokens: number;
  /** Older turns were left out because they did not fit. */
  readonly trimmed: boolean;
}

/** The conversation as the model sees it: the summary of the compacted part, then the turns that fit. */
export function assemble(window: SessionWindow, policy: TranscriptPolicy): Assembled {
  const passed = applyPasses(
    window.messages.map((row) => row.message),
    policy,
  );
  return {
    messages: withSummary(passed, window.summary),
    estimatedTokens: window.estimatedTokens,
    trimmed: window.older,
  };
}

function withSummary(messages: readonly ChatMessage[], summary: string | undefined): ChatMessage[] {
  if (summary === undefined) return [...messages];
  const [first, ...rest] = messages;
  const turn = summaryTurn(summary, first?.timestamp ?? 0);
  if (first?.role === "user") return [joinUserTurns(turn, first), ...rest];
  return [turn, ...messages];
}

/** The turn that replaces the compacted part. */
export function summaryTurn(summary: string, timestamp: number): UserMessage {
  return { role: "user", content: `${SUMMARY}\n\n${summary}`, timestamp };
}

const SUMMARY = "Summary of the conversation so far:";

/** Whether the conversation begins with that turn, alone or joined to the next one. */
export function isSummaryTurn(message: ChatMessage): boolean {
  if (message.role !== "user") return false;
  const [first] = partsOf(message);
  return first?.type === "text" && first.text.startsWith(SUMMARY);
}
