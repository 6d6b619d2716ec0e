import type { AssistantMessage, ChatMessage, ToolResultMessage } from "../../types/run/model.ts";
import { type AnswerPart, mapSame, oneText, withContent } from "../parts.ts";
import type { TranscriptPolicy } from "../../providers/quirks.ts";
import { once } from "../../utils/share-calls.ts";
import { isOwnAnswer, unsigned } from "./thinking.ts";

/**
 * OpenAI's Responses API accepts the items of an answer only as they were made: a reasoning item must be whole and followed by
 * its result, and no item may be repeated. All other answers are sent as plain text and calls.
 */
export function downgradeReasoning(messages: readonly ChatMessage[], policy: TranscriptPolicy): readonly ChatMessage[] {
  if (policy.ownThinking !== "item") return messages;
  const seen = new Set<string>();
  /** Whether the calls of the last answer were sent without their items. */
  let plain = false;
  return mapSame(messages, (message) => {
    if (message.role === "toolResult") return plain ? withoutItem(message) : message;
    if (message.role !== "assistant") return message;
    const items = isOwnAnswer(message, policy) ? itemsOf(message) : undefined;
    plain = items === undefined || new Set(items).size < items.length || items.some((id) => seen.has(id));
    if (plain) return asPlain(message);
    for (const id of items ?? []) seen.add(id);
    return message;
  });
}

/** The ids of all items of an answer. Undefined when the answer cannot be sent as items. */
const itemsOf = once(({ content }: AssistantMessage): readonly string[] | undefined => {
  if (content.at(-1)?.type === "thinking") return undefined;
  const reasoned = content.some((part) => part.type === "thinking");
  const ids = content.map((part) => itemId(part, reasoned));
  return ids.every((id) => id !== undefined) ? ids.filter((id) => id !== "") : undefined;
});

/** The id of an item: empty when it needs none, undefined when it lacks one that it needs. */
function itemId(part: AnswerPart, reasoned: boolean): string | undefined {
  if (part.type === "thinking") return reasoningId(part.thinkingSignature);
  if (part.type === "toolCall") return part.id.split("|")[1] ?? (reasoned ? undefined : "");
  return textId(part);
}

function textId(part: object): string | undefined {
  if (!("textSignature" in part) || typeof part.textSignature !== "string") return undefined;
  const item = part.textSignature.startsWith("{") ? parsed(part.textSignature) : { id: part.textSignature };
  // The SDK makes short ids for texts without one.
  return item && "id" in item && typeof item.id === "string" && /^msg_[\w-]{12,60}$/.test(item.id)
    ? item.id
    : undefined;
}

/** OpenAI stores nothing, so the item must have its content. */
function reasoningId(signature: string | undefined): string | undefined {
  // Half a surrogate pair is escaped here, and the SDK sends it in this form.
  const item = /\\ud[89a-f]/i.test(signature ?? "") ? undefined : parsed(signature ?? "");
  if (!item || !("type" in item) || item.type !== "reasoning") return undefined;
  if (!("encrypted_content" in item) || typeof item.encrypted_content !== "string") return undefined;
  return "id" in item && typeof item.id === "string" && item.id.startsWith("rs_") ? item.id : undefined;
}

function parsed(json: string): object | undefined {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

const asPlain = once((message: AssistantMessage): AssistantMessage => {
  const bare = unsigned(message);
  // The SDK gives all texts of an answer the same item id.
  return withContent(bare, oneText(mapSame(bare.content, withoutItemId)));
});

function withoutItemId(part: AnswerPart): AnswerPart {
  if (part.type !== "toolCall" || !part.id.includes("|")) return part;
  return { ...part, id: callPart(part.id) };
}

function withoutItem(message: ToolResultMessage): ToolResultMessage {
  if (!message.toolCallId.includes("|")) return message;
  return { ...message, toolCallId: callPart(message.toolCallId) };
}

const callPart = (id: string): string => id.split("|", 1).join("");
