import type { MessageCounts } from "../../types/answers/usage.ts";
import type { AssistantMessage, ChatMessage } from "../../types/run/model.ts";
import type { TranscriptEntry } from "../../types/session.ts";

const NO_MESSAGES: MessageCounts = { total: 0, user: 0, assistant: 0, toolCalls: 0, toolResults: 0, errors: 0 };

/** A message of a conversation, as statistics need it. */
export interface CountedMessage {
  /** Epoch milliseconds. */
  readonly at: number;
  readonly counts: MessageCounts;
  readonly tools: readonly string[];
  /** Milliseconds from the message that it answers; unset for other messages. */
  readonly latencyMs?: number;
}

/** The messages of transcript entries, the oldest first. Pure. */
export function countMessages(entries: readonly TranscriptEntry[]): readonly CountedMessage[] {
  let asked: number | undefined;
  return entries.flatMap((entry) => {
    if (entry.type !== "message") return [];
    const { message } = entry;
    const at = Date.parse(entry.timestamp) || message.timestamp;
    const latencyMs = message.role === "assistant" && asked !== undefined ? Math.max(0, at - asked) : undefined;
    asked = message.role === "assistant" ? undefined : at;
    const tools = message.role === "assistant" ? toolsOf(message) : [];
    return [{ at, counts: countsOf(message, tools.length), tools, ...(latencyMs !== undefined && { latencyMs }) }];
  });
}

const toolsOf = ({ content }: AssistantMessage): readonly string[] =>
  content.flatMap((part) => (part.type === "toolCall" ? [part.name] : []));

function countsOf(message: ChatMessage, toolCalls: number): MessageCounts {
  switch (message.role) {
    case "user":
      return { ...NO_MESSAGES, total: 1, user: 1 };
    case "assistant":
      return { ...NO_MESSAGES, total: 1, assistant: 1, toolCalls, errors: Number(message.stopReason === "error") };
    case "toolResult":
      return { ...NO_MESSAGES, toolResults: 1, errors: Number(message.isError) };
  }
}

/** The sum of the counts of some messages. */
export const sumCounts = (messages: readonly Pick<CountedMessage, "counts">[]): MessageCounts =>
  messages.reduce(
    (sum, { counts }) => ({
      total: sum.total + counts.total,
      user: sum.user + counts.user,
      assistant: sum.assistant + counts.assistant,
      toolCalls: sum.toolCalls + counts.toolCalls,
      toolResults: sum.toolResults + counts.toolResults,
      errors: sum.errors + counts.errors,
    }),
    NO_MESSAGES,
  );

/** How often each tool was called, the most called first. */
export function toolUsageOf(messages: readonly Pick<CountedMessage, "tools">[]) {
  const calls = messages.flatMap(({ tools }) => tools);
  const tools = [...Map.groupBy(calls, (name) => name)].map(([name, all]) => ({ name, count: all.length }));
  return {
    totalCalls: calls.length,
    uniqueTools: tools.length,
    tools: tools.toSorted((a, b) => b.count - a.count || a.name.localeCompare(b.name)),
  };
}

/** The times that answers took; undefined when there are none. */
export function latencyOf(messages: readonly Pick<CountedMessage, "latencyMs">[]) {
  const times = messages.flatMap(({ latencyMs }) => (latencyMs === undefined ? [] : [latencyMs]));
  const sorted = times.toSorted((a, b) => a - b);
  const [minMs, maxMs] = [sorted[0], sorted.at(-1)];
  if (minMs === undefined || maxMs === undefined) return undefined;
  const avgMs = sorted.reduce((sum, one) => sum + one, 0) / sorted.length;
  const p95Ms = sorted[Math.ceil(sorted.length * 0.95) - 1] ?? maxMs;
  return { count: sorted.length, avgMs, minMs, maxMs, p95Ms };
}
