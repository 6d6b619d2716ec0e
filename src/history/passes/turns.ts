import type { AssistantMessage, ChatMessage, UserMessage } from "../../types/run/model.ts";
import { beginsTurn } from "../../types/run/turns.ts";
import { emptyUsage } from "../../types/run/usage.ts";
import { hasCalls, hasField, isBlank, isWhole, joinedParts, oneText, partsOf } from "../parts.ts";
import type { TranscriptPolicy } from "../../providers/quirks.ts";
import { isOwnAnswer, unsigned } from "./thinking.ts";

/** Gemini refuses a conversation that begins with an answer. */
export function startWithUser(messages: readonly ChatMessage[], policy: TranscriptPolicy): readonly ChatMessage[] {
  const first = messages[0];
  if (!policy.userTurnFirst || first === undefined || first.role === "user") return messages;
  return [{ role: "user", content: "(The conversation began earlier.)", timestamp: first.timestamp }, ...messages];
}

/** Gemini accepts no two answers in a row. */
export function validateGeminiTurns(
  messages: readonly ChatMessage[],
  policy: TranscriptPolicy,
): readonly ChatMessage[] {
  if (!policy.validateGeminiTurns) return messages;
  return joinRow(messages, (last, next) => {
    if (last.role !== "assistant" || next.role !== "assistant" || hasCalls(last)) return undefined;
    return joinAnswers(last, next, policy);
  });
}

/** Anthropic accepts no two user turns in a row. They occur when a run between them failed, and their texts are joined. */
export function validateAnthropicTurns(
  messages: readonly ChatMessage[],
  policy: TranscriptPolicy,
): readonly ChatMessage[] {
  if (!policy.validateAnthropicTurns) return messages;
  return joinRow(messages, (last, next) =>
    last.role === "user" && next.role === "user" ? joinUserTurns(last, next) : undefined,
  );
}

/** Joins two user turns. The result begins a turn if either of the two does. */
export const joinUserTurns = (first: UserMessage, then: UserMessage): UserMessage => ({
  ...(beginsTurn(first) && !beginsTurn(then) ? first : then),
  content: joinedParts(partsOf(first), partsOf(then)),
});

/** The joined answer has no signature, because nobody signed it as a whole. */
function joinAnswers(first: AssistantMessage, then: AssistantMessage, policy: TranscriptPolicy): AssistantMessage {
  const by = isOwnAnswer(first, policy) ? first : then;
  const { api, provider, model } = by;
  const content = joinedParts(unsigned(first).content, unsigned(then).content);
  const isOneText = policy.strict === true || policy.model.api === "openai-completions";
  return { ...then, api, provider, model, content: isOneText ? [...oneText(content)] : content };
}

type Join = (last: ChatMessage, next: ChatMessage) => ChatMessage | undefined;

function joinRow(messages: readonly ChatMessage[], join: Join): readonly ChatMessage[] {
  const rows: ChatMessage[] = [];
  for (const message of messages) {
    const last = rows.at(-1);
    const joined = last?.role === message.role ? join(last, message) : undefined;
    if (joined) rows[rows.length - 1] = joined;
    else rows.push(message);
  }
  return rows.length === messages.length ? messages : rows;
}

const BRIDGE = "(The results are above.)";

/** Some providers refuse a user turn right after tool results. */
export function bridgeToolResults(messages: readonly ChatMessage[], policy: TranscriptPolicy): readonly ChatMessage[] {
  if (!policy.bridgeToolResults) return messages;
  const bridged = messages.flatMap((message, index) => {
    const before = messages[index - 1];
    const needed = message.role === "user" && before?.role === "toolResult";
    return needed ? [bridge(before.timestamp, policy), message] : [message];
  });
  return bridged.length === messages.length ? messages : bridged;
}

function bridge(timestamp: number, { model }: TranscriptPolicy): AssistantMessage {
  return {
    role: "assistant",
    content: [{ type: "text", text: BRIDGE }],
    api: model.api,
    provider: model.provider,
    model: model.id,
    usage: emptyUsage(),
    stopReason: "stop",
    timestamp,
  };
}

/**
 * Whether a conversation is such that no pass changes it: only text, in turns that alternate, and every answer whole and unsigned. A
 * limit of turns needs the passes.
 */
export const isPlainTalk = (messages: readonly ChatMessage[], { earlierTurns }: TranscriptPolicy): boolean =>
  (earlierTurns === undefined || earlierTurns === 0) &&
  messages.every((message, at) => (at % 2 === 0 ? isPlainTurn(message) : isPlainAnswer(message)));

function isPlainTurn(message: ChatMessage): boolean {
  if (message.role !== "user" || message.customType !== undefined || hasField(message, "provenance")) return false;
  const { content } = message;
  if (typeof content === "string") return !isBlank(content);
  return content.length > 0 && content.every((part) => part.type === "text" && !isBlank(part.text));
}

const isPlainAnswer = (message: ChatMessage): boolean =>
  message.role === "assistant" && isWhole(message) && message.content.length === 1 && isPlainText(message);

function isPlainText({ content: [part] }: AssistantMessage): boolean {
  return part?.type === "text" && !hasField(part, "textSignature") && !isBlank(part.text);
}
