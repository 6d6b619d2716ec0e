import { BoundedMap } from "../../utils/bounded-map.ts";
import type { AssistantMessage, ChatMessage, ImageContent, TextContent } from "../../types/run/model.ts";

export const CHARS_PER_TOKEN = 4;
const IMAGE_TOKENS = 1200;
// Han, kana, hangul and full-width characters have about one token each. The surrogates belong to the rarer Han planes.
const WIDE =
  /[\u1100-\u11ff\u2e80-\ua4cf\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\ufe30-\ufe4f\uff00-\uffef]|[\ud840-\ud888]/g;
const MAY_BE_WIDE = /[\u1100-\uffff]/;

/** The estimated tokens of a text, without a tokenizer: a quarter of its length, and one for each wide character. */
export function estimateTextTokens(text: string): number {
  const wide = MAY_BE_WIDE.test(text) ? (text.match(WIDE)?.length ?? 0) : 0;
  return Math.ceil((text.length - wide) / CHARS_PER_TOKEN) + wide;
}

/** System prompts stay the same from turn to turn, and are long. */
const MOST_PROMPTS = 64;
const prompts = new BoundedMap<string, number>(MOST_PROMPTS);

/** As `estimateTextTokens`, for a system prompt: keeps the estimates of the last prompts. */
export const estimatePromptTokens = (text: string): number => prompts.of(text, () => estimateTextTokens(text));

interface KnownTool {
  readonly name: string;
  readonly description: string;
  readonly tokens: number;
}

const tools = new WeakMap<object, KnownTool>();

/** The estimated tokens of a tool with this JSON Schema. */
export function estimateToolTokens(name: string, description: string, schema: object): number {
  const known = tools.get(schema);
  if (known?.name === name && known.description === description) return known.tokens;
  const tokens = estimateTextTokens(`${name}${description}${JSON.stringify(schema)}`);
  tools.set(schema, { name, description, tokens });
  return tokens;
}

/** The estimated tokens of a message. An image counts as 1,200. */
export function estimateTokens(message: ChatMessage): number {
  if (message.role === "assistant") return estimateAnswer(message);
  if (typeof message.content === "string") return estimateTextTokens(message.content);
  return message.content.reduce((sum, part) => sum + estimatePart(part), 0);
}

/** Tokens around a message, a call and a result in a request: role, type, ids, brackets. More than most APIs count. */
const MESSAGE_TOKENS = 12;
const CALL_TOKENS = 25;
const RESULT_TOKENS = 10;

/** The estimated tokens of a message in a request, with the tokens around its content. */
export function estimateInRequest(message: ChatMessage): number {
  const content = estimateTokens(message) + MESSAGE_TOKENS;
  if (message.role === "toolResult") return content + RESULT_TOKENS;
  if (message.role !== "assistant") return content;
  return content + message.content.filter(({ type }) => type === "toolCall").length * CALL_TOKENS;
}

/** The estimated tokens of messages. */
export const estimateAll = (messages: readonly ChatMessage[]): number =>
  messages.reduce((sum, message) => sum + estimateTokens(message), 0);

function estimateAnswer(message: AssistantMessage): number {
  return message.content.reduce((sum, part) => {
    if (part.type === "text") return sum + estimateTextTokens(part.text);
    if (part.type === "thinking") return sum + estimateTextTokens(part.thinking);
    return sum + estimateTextTokens(part.name + JSON.stringify(part.arguments));
  }, 0);
}

const estimatePart = (part: TextContent | ImageContent): number =>
  part.type === "text" ? estimateTextTokens(part.text) : IMAGE_TOKENS;
