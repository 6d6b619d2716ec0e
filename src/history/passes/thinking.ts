import type { AssistantMessage, ChatMessage, ThinkingContent } from "../../types/run/model.ts";
import { type AnswerPart, filterSame, hasField, isBlank, mapSame, oneText, withContent } from "../parts.ts";
import type { TranscriptPolicy } from "../../providers/quirks.ts";

/** Whether the asked model wrote this answer, and its provider still accepts the signatures in it. */
export function isOwnAnswer(message: AssistantMessage, { model }: TranscriptPolicy): boolean {
  const isBySame = message.model === model.id && message.provider === model.provider && message.api === model.api;
  return isBySame && (model.refusedThinking === undefined || message.timestamp > model.refusedThinking);
}

/**
 * Drops thinking for models that accept none, and for a request that must contain nothing that a provider could refuse.
 */
export function dropThinking(messages: readonly ChatMessage[], policy: TranscriptPolicy): readonly ChatMessage[] {
  return policy.ownThinking === "drop" || policy.strict === true ? mapSame(messages, withoutThinking) : messages;
}

/** A signature is valid only for the model that made it. A model would read another's thinking as an answer. */
export function stripSignatures(messages: readonly ChatMessage[], policy: TranscriptPolicy): readonly ChatMessage[] {
  return mapSame(messages, (message) => {
    if (message.role !== "assistant") return message;
    if (policy.strict === true || !isOwnAnswer(message, policy)) return withOneText(unsigned(message), policy);
    return withContent(
      message,
      filterSame(message.content, (part) => part.type !== "thinking" || isTaken(part, policy)),
    );
  });
}

/**
 * Joins the texts of an answer for OpenAI's chat API, because the SDK would put them together with nothing between. An
 * answer of that API has one text anyway.
 */
function withOneText(message: AssistantMessage, { model }: TranscriptPolicy): AssistantMessage {
  return model.api === "openai-completions" ? withContent(message, oneText(message.content)) : message;
}

/** The answer without thinking and without signatures. */
export function unsigned(message: AssistantMessage): AssistantMessage {
  return withContent(withoutThinking(message), mapSame(withoutThinking(message).content, unsignedPart));
}

function withoutThinking<M extends ChatMessage>(message: M): M;
function withoutThinking(message: ChatMessage): ChatMessage {
  if (message.role !== "assistant") return message;
  return withContent(
    message,
    filterSame(message.content, (part) => part.type !== "thinking"),
  );
}

function unsignedPart(part: AnswerPart): AnswerPart {
  if (part.type === "text" && hasField(part, "textSignature")) return { type: "text", text: part.text };
  if (part.type !== "toolCall" || !hasField(part, "thoughtSignature")) return part;
  const { id, name, arguments: given } = part;
  return { type: "toolCall", id, name, arguments: given };
}

/** Names of message fields in which OpenAI-compatible servers send thinking. */
const FIELDS: readonly string[] = ["reasoning_content", "reasoning", "reasoning_text"];

function isTaken(part: ThinkingContent, { ownThinking, model }: TranscriptPolicy): boolean {
  const signature = part.thinkingSignature ?? "";
  if (ownThinking === "item") return true;
  // Only Anthropic's own API accepts hidden thoughts.
  if ("redacted" in part && part.redacted === true) return model.api === "anthropic-messages" && !isBlank(signature);
  // Anthropic gives some thoughts as a signature alone, and a tool loop has to begin with its own thought.
  if (isBlank(part.thinking)) return model.api === "anthropic-messages" && !isBlank(signature);
  // The SDK sends the thinking unchanged.
  if (ownThinking === "field") return part.thinking.isWellFormed() && (signature === "" || FIELDS.includes(signature));
  return ownThinking !== "signed" || !isBlank(signature);
}
