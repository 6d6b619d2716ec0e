import type { ChatMessage } from "../../types/run/model.ts";
import { type Fields, isFields } from "../../utils/fields.ts";

/** A message of a transcript. `isWhole` is false where parts of it could not be read and are left out. */
export interface ReadMessage {
  readonly message: ChatMessage;
  readonly isWhole: boolean;
}

const ROLES = new Set(["user", "assistant", "toolResult"]);

/**
 * A message as this or another program wrote it; the very object where nothing has to be changed. Other programs write an
 * answer or a result as one string, and have a role `tool`. Undefined when it is no message.
 */
export function readMessage(value: unknown): ReadMessage | undefined {
  if (!isFields(value)) return undefined;
  const role = value["role"] === "tool" ? "toolResult" : value["role"];
  const content = contentOf(role, value["content"]);
  if (typeof role !== "string" || !ROLES.has(role) || content === undefined) return undefined;
  const isSame = role === value["role"] && content === value["content"];
  const message: unknown = isSame ? value : { ...value, role, content };
  if (!isMessage(message)) return undefined;
  return { message, isWhole: typeof content === "string" || !isShortened(content, value["content"]) };
}

/** Only the content of user messages may be one string in memory. */
function contentOf(role: unknown, content: unknown): string | readonly unknown[] | undefined {
  if (typeof content === "string") return role === "user" ? content : [{ type: "text", text: content }];
  if (!Array.isArray(content)) return undefined;
  const parts: readonly unknown[] = content;
  return parts.every(isReadable) ? parts : parts.filter(isReadable);
}

/** A text part without a string would break readers that use its length. */
function isReadable(part: unknown): part is Fields {
  if (!isFields(part)) return false;
  const { type, text, thinking } = part;
  if (type === "text") return typeof text === "string";
  return type === "thinking" ? typeof thinking === "string" : typeof type === "string";
}

const isShortened = (parts: readonly unknown[], given: unknown): boolean =>
  Array.isArray(given) && given.length !== parts.length;

/** Checks only what readers need. The passes of `history` repair the rest. */
const isMessage = (value: unknown): value is ChatMessage => isFields(value) && typeof value["role"] === "string";
