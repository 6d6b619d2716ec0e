import { callsOf } from "../../history/parts.ts";
import type { ChatMessage, ToolCallContent, ToolResultMessage } from "../../types/run/model.ts";
import type { Session } from "../../types/session.ts";
import type { ToolResult } from "../../types/run/tool.ts";

/** The calls of a turn that had no result before a restart. Rejects when the transcript cannot be read. */
export async function openCalls(session: Pick<Session, "after">, turnId: string): Promise<readonly ToolCallContent[]> {
  const entries = (await session.after(turnId)) ?? [];
  const messages = entries.flatMap((entry): ChatMessage[] => (entry.type === "message" ? [entry.message] : []));
  const ended = new Set(messages.flatMap((message) => (message.role === "toolResult" ? [message.toolCallId] : [])));
  return messages.flatMap(callsOf).filter((call) => !ended.has(call.id));
}

/** Gives a call its result, durably. Rejects when the transcript cannot be written. */
export async function endCall(
  session: Pick<Session, "append">,
  call: ToolCallContent,
  { result, at }: { readonly result: ToolResult; readonly at: number },
): Promise<void> {
  const isError = result.isError === true;
  const message: ToolResultMessage = {
    role: "toolResult",
    toolCallId: call.id,
    toolName: call.name,
    content: result.content,
    details: { ...result.details, isError },
    isError,
    timestamp: at,
  };
  await session.append({ type: "message", message }, { durable: true });
}
