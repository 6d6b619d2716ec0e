import type { AssistantMessage, ChatMessage, ToolCallContent } from "../../types/run/model.ts";
import { type AnswerPart, hasCalls, mapSame } from "../parts.ts";
import type { TranscriptPolicy } from "../../providers/quirks.ts";

/**
 * Makes Gemini accept a call without a signature. The bytes are Google's `skip_thought_signature_validator`, written in the
 * base64 alphabet that the SDK accepts.
 */
const SKIP = "skip/thought/signature/validator";

/**
 * Signs the first call of answers, because Gemini 3 refuses an answer whose first call has no signature of a thought:
 * calls with a signature of their own keep it, calls of other models and calls whose signature is lost get a mark that
 * there is none. The answers then count as the model's own, since the SDK sends signatures of the same model only;
 * other signatures of another model are gone by then.
 */
export function signCalls(messages: readonly ChatMessage[], policy: TranscriptPolicy): readonly ChatMessage[] {
  if (!policy.signedCalls) return messages;
  return mapSame(messages, (message) =>
    message.role === "assistant" && hasCalls(message) ? withSignature(message, policy) : message,
  );
}

function withSignature(message: AssistantMessage, { model }: TranscriptPolicy): AssistantMessage {
  const first = message.content.findIndex((part) => part.type === "toolCall");
  const content = mapSame(message.content, (part, at) => (at === first ? signed(part) : part));
  if (content === message.content) return message;
  return { ...message, api: model.api, provider: model.provider, model: model.id, content: [...content] };
}

function signed(part: AnswerPart): AnswerPart {
  if (part.type !== "toolCall" || isSigned(part)) return part;
  const skipping = { ...part, thoughtSignature: SKIP };
  return skipping;
}

/** The SDK leaves out a value that is no base64. */
function isSigned(call: ToolCallContent): boolean {
  if (!("thoughtSignature" in call) || typeof call.thoughtSignature !== "string") return false;
  const { thoughtSignature } = call;
  return thoughtSignature.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(thoughtSignature);
}
