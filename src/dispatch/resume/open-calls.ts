import { callsOf } from "../../history/parts.ts";
import type { ChatMessage, ToolCallContent, ToolResultMessage } from "../../types/run/model.ts";
import type { Session } from "../../types/session.ts";
import type { ToolResult } from "../../types/run/tool.ts";
import { errorResult, textResult } from "../../tools/define.ts";
import { SPAWN_TOOL } from "../../tools/session/spawn.ts";
import { SUBAGENT, spawnKeyOf, subagentRunId } from "../../tools/session/spawn-names.ts";
import type { Clock } from "../../types/clock.ts";
import { DEFAULT_ACCOUNT, type RunId } from "../../types/ids.ts";
import type { Inbox } from "../../types/journal.ts";

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

/**
 * Gives calls that start subagents and had no result before a restart the result that the inbox has, so that the model
 * starts no subagent twice. Rejects when the transcript or the journal cannot be read or written.
 */
export async function settleOpenSpawns(
  session: Pick<Session, "after" | "append">,
  turn: { readonly runId: RunId; readonly turnId: string },
  { inbox, clock }: { readonly inbox: Pick<Inbox, "find">; readonly clock: Clock },
): Promise<void> {
  const open = (await openCalls(session, turn.turnId)).filter(({ name }) => name === SPAWN_TOOL);
  for (const call of open)
    await endCall(session, call, { result: await resultOf(call, turn.runId, inbox), at: clock.now() });
}

/** The result of a call that starts a subagent. The inbox has every subagent before its run begins. */
async function resultOf(
  { id: callId, arguments: { task } }: ToolCallContent,
  asker: RunId,
  inbox: Pick<Inbox, "find">,
): Promise<ToolResult> {
  if (typeof task !== "string") return errorResult("The gateway stopped before it was started.");
  const runId = subagentRunId(spawnKeyOf({ runId: asker, callId, task: task.trim() }));
  const childSessionKey = (await inbox.find(SUBAGENT, DEFAULT_ACCOUNT, runId))?.message.options?.sessionKey;
  if (childSessionKey === undefined) return errorResult("The gateway stopped before it was started.");
  const answer = { status: "accepted", runId, childSessionKey };
  return textResult(JSON.stringify(answer), answer);
}
