import type { AssistantMessage, ChatMessage, ToolCallContent, ToolResultMessage } from "../types/model.ts";

/** What a provider takes; more flags come with more providers. */
export interface TranscriptPolicy {
  readonly images: boolean;
  /** User turns before the present one; all when 0 or unset. */
  readonly earlierTurns?: number | undefined;
}

export interface HistoryPass {
  readonly name: string;
  apply(messages: readonly ChatMessage[], policy: TranscriptPolicy): readonly ChatMessage[];
}

/** How the transcript becomes a valid request, in order. The log on disk is never touched by it. */
export const HISTORY_PASSES: readonly HistoryPass[] = [
  { name: "drop-broken", apply: dropBroken },
  { name: "images", apply: (messages, policy) => (policy.images ? messages : messages.map(withoutImages)) },
  { name: "pair-tools", apply: pairTools },
  { name: "merge-user-turns", apply: mergeUserTurns },
];

export function applyPasses(messages: readonly ChatMessage[], policy: TranscriptPolicy): readonly ChatMessage[] {
  return HISTORY_PASSES.reduce((current, pass) => pass.apply(current, policy), messages);
}

/** From the user turn on that has this many after it; the same messages when there are not that many. */
export function limitTurns(messages: readonly ChatMessage[], earlierTurns: number | undefined): readonly ChatMessage[] {
  if (earlierTurns === undefined || earlierTurns === 0) return messages;
  const starts = messages.flatMap((message, index) => (isTurnStart(message, messages[index - 1]) ? [index] : []));
  return messages.slice(starts.at(-1 - earlierTurns) ?? 0);
}

/** User messages in a row are one turn. */
const isTurnStart = (message: ChatMessage, before: ChatMessage | undefined): boolean =>
  message.role === "user" && before?.role !== "user";

/** Answers that ended in an error or an abort, and empty ones, are no part of what was said. */
function dropBroken(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  return messages.every(isWhole) ? messages : messages.filter(isWhole);
}

function isWhole(message: ChatMessage): boolean {
  if (message.role !== "assistant") return true;
  return message.stopReason !== "error" && message.stopReason !== "aborted" && message.content.length > 0;
}

function withoutImages(message: ChatMessage): ChatMessage {
  if (message.role === "assistant" || typeof message.content === "string") return message;
  if (!message.content.some((part) => part.type === "image")) return message;
  const content = message.content.map((part) =>
    part.type === "image" ? { type: "text" as const, text: "[image: this model cannot see images]" } : part,
  );
  return { ...message, content };
}

/** Every call has its one result right behind it; results without a call go. */
function pairTools(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  if (!messages.some((message) => message.role === "toolResult" || callsOf(message).length > 0)) return messages;
  // From the end: providers use an id again in a later turn, and a call's result is the next one behind it.
  const results = new Map<string, ToolResultMessage>();
  const paired = messages.toReversed().map((message): readonly ChatMessage[] => {
    if (message.role !== "toolResult")
      return [message, ...callsOf(message).map((call) => takeResult(results, call, message))];
    results.set(message.toolCallId, message);
    return [];
  });
  return paired.toReversed().flat();
}

function takeResult(
  results: Map<string, ToolResultMessage>,
  call: ToolCallContent,
  at: ChatMessage,
): ToolResultMessage {
  const found = results.get(call.id);
  results.delete(call.id);
  return found ?? interruptedResult(call, at.timestamp);
}

/** Stands for a call whose end nobody saw. */
export function interruptedResult(call: ToolCallContent, timestamp: number): ToolResultMessage {
  return {
    role: "toolResult",
    toolCallId: call.id,
    toolName: call.name,
    content: [{ type: "text", text: "This call was interrupted; whether it took effect is not known." }],
    isError: true,
    timestamp,
  };
}

export function callsOf(message: ChatMessage): ToolCallContent[] {
  return message.role === "assistant" ? message.content.filter((part) => part.type === "toolCall") : [];
}

/** Two user turns in a row happen when a run failed between them: no text of either is lost. */
function mergeUserTurns(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  if (!messages.some((message, index) => message.role === "user" && messages[index - 1]?.role === "user"))
    return messages;
  const merged: ChatMessage[] = [];
  for (const message of messages) {
    const last = merged.at(-1);
    if (message.role === "user" && last?.role === "user") {
      merged[merged.length - 1] = { ...message, content: [...partsOf(last), ...partsOf(message)] };
    } else {
      merged.push(message);
    }
  }
  return merged;
}

function partsOf(message: Extract<ChatMessage, { role: "user" }>) {
  return typeof message.content === "string" ? [{ type: "text" as const, text: message.content }] : message.content;
}

/** The words of an answer, without thinking and calls. */
export function textOf(message: AssistantMessage): string {
  return message.content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("");
}
