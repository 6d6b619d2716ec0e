import { callsOf } from "../../history/parts.ts";
import { errorResult } from "../../tools/define.ts";
import { MESSAGE_TOOL, postedOf, postedResult, callKeyPrefix } from "../../tools/message/message-result.ts";
import type { Clock } from "../../types/clock.ts";
import type { OutboxRow } from "../../types/journal.ts";
import type { ChatMessage, ToolCallContent, ToolResultMessage } from "../../types/run/model.ts";
import type { Session } from "../../types/session.ts";
import type { ToolResult } from "../../types/run/tool.ts";

/**
 * Gives calls of the message tool that had no result before a restart the result that the outbox has, so that the model sends
 * nothing twice. Rejects when the transcript cannot be read or written.
 */
export async function settleOpenSends(
  session: Pick<Session, "after" | "append">,
  turn: { readonly inboxId: number; readonly turnId: string; readonly rows: readonly OutboxRow[] },
  clock: Clock,
): Promise<void> {
  const entries = (await session.after(turn.turnId)) ?? [];
  const messages = entries.flatMap((entry): ChatMessage[] => (entry.type === "message" ? [entry.message] : []));
  const ended = new Set(messages.flatMap((message) => (message.role === "toolResult" ? [message.toolCallId] : [])));
  const open = messages.flatMap(callsOf).filter((call) => !ended.has(call.id) && isSend(call));
  for (const call of open) {
    const name = callKeyPrefix(turn.inboxId, call.id);
    const rows = turn.rows.filter(({ replyKey }) => replyKey.startsWith(name));
    const message = messageOf(call, resultOf(rows), clock.now());
    await session.append({ type: "message", message }, { durable: true });
  }
}

const isSend = ({ name, arguments: args }: ToolCallContent): boolean =>
  name === MESSAGE_TOOL && (args["action"] ?? "send") === "send";

/** The outbox has every message before its platform does. */
function resultOf(rows: readonly OutboxRow[]): ToolResult {
  const [first] = rows;
  return first ? postedResult(postedOf(rows), first.to) : errorResult("The gateway stopped before it was sent.");
}

const messageOf = (call: ToolCallContent, result: ToolResult, timestamp: number): ToolResultMessage => ({
  role: "toolResult",
  toolCallId: call.id,
  toolName: call.name,
  content: result.content,
  details: { ...result.details, isError: result.isError === true },
  isError: result.isError === true,
  timestamp,
});
