import type {
  ChatMessage,
  TextContent,
  ToolCallContent,
  ToolResultMessage,
  UserMessage,
} from "../../types/run/model.ts";
import { callsOf, hasCalls, joinedParts } from "../parts.ts";
import type { TranscriptPolicy } from "../../providers/quirks.ts";

/**
 * Makes each result a user turn that describes the call and its result, for a request that must contain no calls and
 * results. The answers do not mention the call, because a model would then write calls as text.
 */
export function tellTools(messages: readonly ChatMessage[], policy: TranscriptPolicy): readonly ChatMessage[] {
  if (policy.plainTools !== true || !messages.some(hasTools)) return messages;
  const calls = new Map<string, ToolCallContent>();
  return messages.flatMap((message): readonly ChatMessage[] => {
    if (message.role === "toolResult") return [asUserTurn(message, calls.get(message.toolCallId), policy)];
    if (message.role === "user") return [message];
    for (const call of callsOf(message)) calls.set(call.id, call);
    if (!hasCalls(message)) return [message];
    // Thinking that led to removed calls is removed with them.
    const said = message.content.filter((part) => part.type === "text");
    return said.length > 0 ? [{ ...message, content: said }] : [];
  });
}

const hasTools = (message: ChatMessage): boolean => message.role === "toolResult" || hasCalls(message);

/** The most characters of a call's arguments. */
const MAX_ARGUMENTS = 2000;

function asUserTurn(
  result: ToolResultMessage,
  call: ToolCallContent | undefined,
  policy: TranscriptPolicy,
): UserMessage {
  const given = JSON.stringify(call?.arguments ?? {});
  const shown = given.length > MAX_ARGUMENTS ? `${given.slice(0, MAX_ARGUMENTS).toWellFormed()}…` : given;
  const end = result.isError ? "failed with" : "gave";
  const head: TextContent = {
    type: "text",
    text: `[The tool ${result.toolName} was called with ${shown} and ${end}:]`,
  };
  const content = result.content.map((part) =>
    part.type === "image" && policy.strict === true ? { type: "text" as const, text: "[image: left out]" } : part,
  );
  return { role: "user", content: joinedParts([head], content), timestamp: result.timestamp };
}
