import type { ChatMessage, UserMessage } from "../../types/run/model.ts";
import { once } from "../../utils/share-calls.ts";
import { mapSame, partsOf } from "../parts.ts";

/** `provenance` of a user message that another session sent. */
interface Origin {
  readonly kind?: unknown;
  readonly sourceSessionKey?: unknown;
  readonly sourceChannel?: unknown;
  readonly sourceTool?: unknown;
}

/** Marks the user turns that no user wrote. */
export function markInterSession(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  return mapSame(messages, (message) =>
    message.role === "user" && originOf(message)?.kind === "inter_session" && !joinsNext(message)
      ? marked(message)
      : message,
  );
}

/**
 * A note between two turns explains itself. It becomes one text with the next turn, to which the line would then apply
 * too.
 */
const joinsNext = ({ customType, steered }: UserMessage): boolean => customType !== undefined && steered !== true;

const marked = once((message: UserMessage): UserMessage => {
  const { role, timestamp } = message;
  const line = markerLine(originOf(message) ?? {});
  return { role, timestamp, content: [{ type: "text", text: `${line}\n` }, ...partsOf(message)] };
});

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
