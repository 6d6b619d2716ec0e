import { createHash } from "node:crypto";
import type { AssistantMessage, ChatMessage, ToolCallContent, ToolResultMessage } from "../../types/run/model.ts";
import { UNNAMED } from "../../types/run/read-chat-message.ts";
import { mapSame, withContent } from "../parts.ts";
import type { CallIdStyle, TranscriptPolicy } from "../../providers/quirks.ts";
import { isOwnAnswer } from "./thinking.ts";

interface IdRule {
  readonly fits: RegExp;
  /** The id for the n-th call with this id. */
  make(id: string, n: number): string;
}

/**
 * The longest ids: 64 characters for Anthropic, 40 (Chat) and 64 (Responses) for OpenAI. Mistral requires exactly nine letters
 * and digits.
 */
const RULES: Readonly<Record<CallIdStyle, IdRule>> = {
  any: { fits: /^[^|]+$/, make: (id, n) => numbered(id.replaceAll("|", "_") || "call", n) },
  anthropic: { fits: /^[a-zA-Z0-9_-]{1,64}$/, make: safeUpTo(64) },
  openai: { fits: /^[a-zA-Z0-9_.:-]{1,40}$/, make: safeUpTo(40) },
  // The SDK removes underscores at the end of an id.
  responses: { fits: /^[a-zA-Z0-9_-]{0,63}[a-zA-Z0-9-]$/, make: safeUpTo(64) },
  mistral: {
    fits: /^[a-zA-Z0-9]{9}$/,
    make: (id, n) => createHash("sha1").update(`${id}:${n}`).digest("hex").slice(0, 9),
  },
};

const numbered = (id: string, n: number): string => (n === 1 ? id : `${id}_${n}`);

function safeUpTo(longest: number): IdRule["make"] {
  return (id, n) => {
    const most = longest - (n === 1 ? 0 : `_${n}`.length);
    const safe = id
      .replaceAll(/[^a-zA-Z0-9_-]/g, "_")
      .slice(0, most)
      .replace(/_+$/, "");
    return numbered(safe || "call", n);
  };
}

/** Gives every call an id that the provider accepts and that no other call has, and its result the same id. */
export function mapCallIds(messages: readonly ChatMessage[], policy: TranscriptPolicy): readonly ChatMessage[] {
  const rename = renaming(RULES[policy.callIds]);
  const open: OpenCalls = new Map();
  return mapSame(messages, (message) => {
    if (message.role === "assistant") return mapCalls(message, open, (call) => newId(call, message, policy, rename));
    return message.role === "toolResult" ? mapResult(message, open) : message;
  });
}

/** The latest calls with an id, in their order, under their new ids, until they have a result. */
type OpenCalls = Map<string, { readonly id: string; readonly name: string }[]>;

type Rename = (id: string) => string;

function renaming(rule: IdRule): Rename {
  const taken = new Set<string>();
  const next = new Map<string, number>();
  return (id) => {
    const wish = rule.fits.test(id) ? id : rule.make(id, 1);
    let n = next.get(wish) ?? 1;
    let name = wish;
    while (taken.has(name)) name = rule.make(id, ++n);
    next.set(wish, n);
    taken.add(name);
    return name;
  };
}

function mapCalls(
  message: AssistantMessage,
  open: OpenCalls,
  idFor: (call: ToolCallContent) => string,
): AssistantMessage {
  if (!message.content.some((part) => part.type === "toolCall")) return message;
  const fresh: OpenCalls = new Map();
  const content = mapSame(message.content, (part) => {
    if (part.type !== "toolCall") return part;
    const id = idFor(part);
    fresh.set(part.id, [...(fresh.get(part.id) ?? []), { id, name: part.name }]);
    return id === part.id ? part : { ...part, id };
  });
  for (const [id, calls] of fresh) open.set(id, calls);
  return withContent(message, content);
}

/** A result without an open call gets an id that no call has, so that the pairing pass removes it. */
function mapResult(message: ToolResultMessage, open: OpenCalls): ToolResultMessage {
  const call = open.get(message.toolCallId)?.shift() ?? takeUnnamed(message, open);
  const toolCallId = call?.id ?? "";
  return toolCallId === message.toolCallId ? message : { ...message, toolCallId };
}

/** Where only the call or only the result has lost its id, the tool's name says which belong together. */
function takeUnnamed({ toolCallId, toolName }: ToolResultMessage, open: OpenCalls) {
  for (const [id, calls] of open) {
    const at = calls.findIndex(({ name }) => name === toolName);
    if (at >= 0 && (id === UNNAMED || toolCallId === UNNAMED)) return calls.splice(at, 1)[0];
  }
  return undefined;
}

/** OpenAI's Responses API writes `<call id>|<item id>`. The item's part is valid only for the model that made it. */
function newId(call: ToolCallContent, message: AssistantMessage, policy: TranscriptPolicy, rename: Rename): string {
  const [callPart = "", item] = call.id.split("|", 2);
  const id = rename(callPart === "" ? call.id : callPart);
  const keepsItem =
    policy.callIds === "responses" && isOwnAnswer(message, policy) && id === callPart && isItemId.test(item ?? "");
  return keepsItem ? `${id}|${item}` : id;
}

const isItemId = /^fc_[a-zA-Z0-9_-]{0,60}[a-zA-Z0-9-]$/;
