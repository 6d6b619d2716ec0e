import { errorResult } from "../../tools/define.ts";
import { MESSAGE_TOOL, postedOf, postedResult, callKeyPrefix } from "../../tools/message/message-result.ts";
import type { Clock } from "../../types/clock.ts";
import type { OutboxRow } from "../../types/journal.ts";
import type { ToolCallContent } from "../../types/run/model.ts";
import type { Session } from "../../types/session.ts";
import type { ToolResult } from "../../types/run/tool.ts";
import { endCall, openCalls } from "./open-calls.ts";

/**
 * Gives calls of the message tool that had no result before a restart the result that the outbox has, so that the model sends
 * nothing twice. Rejects when the transcript cannot be read or written.
 */
export async function settleOpenSends(
  session: Pick<Session, "after" | "append">,
  turn: { readonly inboxId: number; readonly turnId: string; readonly rows: readonly OutboxRow[] },
  clock: Clock,
): Promise<void> {
  for (const call of (await openCalls(session, turn.turnId)).filter(isSend)) {
    const name = callKeyPrefix(turn.inboxId, call.id);
    const rows = turn.rows.filter(({ replyKey }) => replyKey.startsWith(name));
    await endCall(session, call, { result: resultOf(rows), at: clock.now() });
  }
}

const isSend = ({ name, arguments: args }: ToolCallContent): boolean =>
  name === MESSAGE_TOOL && (args["action"] ?? "send") === "send";

/** The outbox has every message before its platform does. */
function resultOf(rows: readonly OutboxRow[]): ToolResult {
  const [first] = rows;
  return first ? postedResult(postedOf(rows), first.to) : errorResult("The gateway stopped before it was sent.");
}
