import type { ChatMessage, UserMessage } from "../../types/model.ts";
import { mapSame, partsOf } from "../parts.ts";

/** `provenance` of a user message that another session sent. */
interface Origin {
  readonly kind?: unknown;
  readonly sourceSessionKey?: unknown;
  readonly sourceChannel?: unknown;
  readonly sourceTool?: unknown;
}

/** The model has to see which user turns no user wrote. */
export function markInterSession(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  return mapSame(messages, mark);
}

function mark(message: ChatMessage): ChatMessage {
  if (message.role !== "user") return message;
  const origin = originOf(message);
  if (origin?.kind !== "inter_session") return message;
  const { role, timestamp } = message;
  return { role, timestamp, content: [{ type: "text", text: `${markerLine(origin)}\n` }, ...partsOf(message)] };
}

function originOf(message: UserMessage): Origin | undefined {
  if (!("provenance" in message)) return undefined;
  const { provenance } = message;
  return typeof provenance === "object" && provenance !== null ? provenance : undefined;
}

function markerLine({ sourceSessionKey, sourceChannel, sourceTool }: Origin): string {
  const facts = Object.entries({ sourceSession: sourceSessionKey, sourceChannel, sourceTool });
  const known = facts.flatMap(([name, value]) => (typeof value === "string" ? [`${name}=${oneWord(value)}`] : []));
  return ["[Inter-session message]", ...known, "isUser=false"].join(" ");
}

const oneWord = (value: string): string => value.replaceAll(/\s+/g, "_");
