import type { EarlierPlaces } from "../../store/places.ts";
import type { AssistantMessage, ChatMessage } from "../../types/run/model.ts";
import type { TranscriptEntry } from "../../types/session.ts";
import { type Fields, isFields } from "../../utils/fields.ts";

type Rename = (text: string) => string;

/**
 * An entry as it is read where the state directory is now: texts, calls and results of a time when the directory was
 * elsewhere name files in it by their present path. The file keeps the original texts. Thinking stays, because some
 * providers sign it. Pure.
 */
export function entryHere(entry: TranscriptEntry, earlier: EarlierPlaces): TranscriptEntry {
  if (earlier.isNone) return entry;
  const at = Date.parse(entry.timestamp) || 0;
  const rename: Rename = (text) => earlier.here(text, at);
  if (entry.type === "message") return { ...entry, message: messageHere(entry.message, rename) };
  if (entry.type === "compaction" || entry.type === "branch_summary")
    return {
      ...entry,
      summary: rename(entry.summary),
      ...(entry.details !== undefined && { details: valueHere(entry.details, rename) }),
    };
  if (entry.type !== "custom_message") return entry;
  const { content } = entry;
  return { ...entry, content: typeof content === "string" ? rename(content) : content.map(textHere(rename)) };
}

function messageHere(message: ChatMessage, rename: Rename): ChatMessage {
  switch (message.role) {
    case "assistant":
      return { ...message, content: message.content.map(answerHere(rename)) };
    case "toolResult":
      return { ...message, content: message.content.map(textHere(rename)) };
    default: {
      const { content } = message;
      return { ...message, content: typeof content === "string" ? rename(content) : content.map(textHere(rename)) };
    }
  }
}

const textHere =
  (rename: Rename) =>
  <P extends { type: string }>(part: P): P =>
    "text" in part && typeof part.text === "string" ? { ...part, text: rename(part.text) } : part;

const answerHere =
  (rename: Rename) =>
  (part: AssistantMessage["content"][number]): AssistantMessage["content"][number] => {
    if (part.type === "text") return textHere(rename)(part);
    if (part.type !== "toolCall" || !isFields(part.arguments)) return part;
    return { ...part, arguments: fieldsHere(part.arguments, rename) };
  };

const fieldsHere = (fields: Fields, rename: Rename): Record<string, unknown> =>
  Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, valueHere(value, rename)]));

function valueHere(value: unknown, rename: Rename): unknown {
  if (typeof value === "string") return rename(value);
  if (Array.isArray(value)) return value.map((one) => valueHere(one, rename));
  return isFields(value) ? fieldsHere(value, rename) : value;
}
