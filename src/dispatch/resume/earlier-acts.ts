import type { Session } from "../../types/session.ts";
import { addressed } from "../chats.ts";
import { runIdOf } from "../turn-facts.ts";
import { settleOpenSpawns, endCall, openCalls } from "./open-calls.ts";
import type { DispatchPorts } from "../ports.ts";
import { ResponsePrefix } from "../answer/response-prefix.ts";
import { restoreSentText } from "./restore-sent-text.ts";
import type { PreparedTurn } from "../prepared-turn.ts";
import { errorResult } from "../../tools/define.ts";
import { MESSAGE_TOOL, postedOf, postedResult, callKeyPrefix } from "../../tools/message/message-result.ts";
import type { Clock } from "../../types/clock.ts";
import type { OutboxRow } from "../../types/journal.ts";
import type { ToolCallContent } from "../../types/run/model.ts";
import type { ToolResult } from "../../types/run/tool.ts";

/**
 * Adds to the transcript the messages that were sent and the subagents that were started for this turn before a
 * restart, but not recorded.
 */
export async function noteEarlierActs(
  prepared: PreparedTurn,
  session: Session,
  ports: Pick<DispatchPorts, "storage" | "clock" | "settings">,
): Promise<void> {
  const {
    rows: [row],
    turn,
    message,
    agent,
  } = prepared;
  if (!row || row.attempts === 0) return;
  const {
    storage: { journal },
    clock,
    settings,
  } = ports;
  const rows = await journal.outbox.of(row.id);
  const sent = { inboxId: row.id, turnId: turn.entryId, rows };
  const prefix = new ResponsePrefix(settings().chat((addressed(message) ?? message).from).responsePrefix, agent);
  await settleOpenSends(session, sent, clock);
  await settleOpenSpawns(session, { runId: runIdOf(row), turnId: turn.entryId }, { inbox: journal.inbox, clock });
  await restoreSentText(session, { ...sent, prefix }, clock);
}

/**
 * Gives calls of the message tool that had no result before a restart the result that the outbox has, so that the model
 * sends nothing twice. Rejects when the transcript cannot be read or written.
 */
async function settleOpenSends(
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

/** The result of a call that sends. The outbox has every message before its platform has it. */
function resultOf(rows: readonly OutboxRow[]): ToolResult {
  const [first] = rows;
  return first ? postedResult(postedOf(rows), first.to) : errorResult("The gateway stopped before it was sent.");
}
