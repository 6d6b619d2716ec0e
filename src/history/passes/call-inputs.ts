import type { ChatMessage, ToolCallContent } from "../../types/run/model.ts";
import { readArguments } from "../../types/run/read-chat-message.ts";
import { isFields } from "../../utils/fields.ts";
import { mapSame, withContent } from "../parts.ts";

/** Gives every call a name and arguments that providers accept. */
export function mendCalls(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  return mapSame(messages, (message) => {
    if (message.role !== "assistant") return message;
    const content = mapSame(message.content, (part) => (part.type === "toolCall" ? mended(part) : part));
    return withContent(message, content);
  });
}

/** Checked once for each object, because arguments may be large. */
const known = new WeakMap<ToolCallContent, ToolCallContent>();

function mended(call: ToolCallContent): ToolCallContent {
  const found = known.get(call);
  if (found) return found;
  const made = mend(call);
  known.set(call, made);
  return made;
}

function mend(call: ToolCallContent): ToolCallContent {
  const name = safeName(call.name);
  const given = wellFormed(readArguments(call.arguments));
  return name === call.name && given === call.arguments ? call : { ...call, name, arguments: given };
}

/** Providers refuse JSON with half a surrogate pair. */
function wellFormed(given: Record<string, unknown>): Record<string, unknown> {
  const json = JSON.stringify(given);
  if (!/\\ud[89a-f]/.test(json)) return given;
  const whole: unknown = JSON.parse(json, (_key, value: unknown) =>
    typeof value === "string" ? value.toWellFormed() : value,
  );
  return isFields(whole) && JSON.stringify(whole) !== json ? { ...whole } : given;
}

/** Gemini requires a letter or an underscore at the start. */
function safeName(name: string): string {
  const safe = name.replaceAll(/[^a-zA-Z0-9_-]/g, "_").replace(/^(?![a-zA-Z_])(?=.)/, "_");
  return safe.slice(0, 64) || "unknown";
}
