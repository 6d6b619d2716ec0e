import type { ChatMessage } from "../types/model.ts";
import type { SessionWindow } from "../types/session.ts";
import { applyPasses, limitTurns, type TranscriptPolicy } from "./passes.ts";

export interface Assembled {
  readonly messages: ChatMessage[];
  readonly estimatedTokens: number;
  /** Older turns were left out because they do not fit. */
  readonly trimmed: boolean;
}

/** What the model is shown of a conversation: the summary of what was compacted, then the turns that fit. */
export function assemble(window: SessionWindow, policy: TranscriptPolicy): Assembled {
  const kept = limitTurns(
    window.messages.map((row) => row.message),
    policy.earlierTurns,
  );
  const start: ChatMessage[] =
    window.summary === undefined ? [] : [summaryTurn(window.summary, kept[0]?.timestamp ?? 0)];
  const messages = applyPasses([...start, ...kept], policy);
  return {
    messages: [...messages],
    estimatedTokens: window.estimatedTokens,
    trimmed: window.older && window.summary === undefined,
  };
}

function summaryTurn(summary: string, timestamp: number): ChatMessage {
  return { role: "user", content: `Summary of the conversation so far:\n\n${summary}`, timestamp };
}
