import type { OutboxRow } from "../../types/journal.ts";
import type { Peer } from "../../types/chat/message.ts";
import type { Posted } from "../../types/chat/send.ts";
import type { ToolResult } from "../../types/run/tool.ts";
import { errorResult, textResult } from "../define.ts";

export const MESSAGE_TOOL = "message";

/** Prefix of the outbox keys of one call of the message tool. */
export const callKeyPrefix = (inboxId: number, callId: string): string => `${toolKeyPrefix(inboxId)}${callId}:`;

/** Prefix of the outbox keys of all calls of the tool in the turn of a message. */
export const toolKeyPrefix = (inboxId: number): string => `in:${inboxId}:tool:`;

/** The state of a post, from its outbox rows. */
export function postedOf(rows: readonly OutboxRow[]): Posted {
  const messageIds = rows.flatMap(({ messageId }) => messageId ?? []);
  const failed = rows.find(({ state }) => state === "failed");
  const waiting = rows.find(({ state }) => state !== "sent");
  const reason = (failed ?? waiting)?.error;
  return {
    state: waiting ? "queued" : "sent",
    ...(failed && { state: "failed" }),
    messageIds,
    ...(reason !== undefined && { reason }),
    ...(rows.some(({ isRepeat }) => isRepeat === true) && { possibleRepeat: true }),
  };
}

/** The tool's result for the model. */
export function postedResult({ state, messageIds, reason, possibleRepeat, isLoud }: Posted, to: Peer): ToolResult {
  const where = targetName(to);
  const [messageId] = messageIds;
  const details = {
    state,
    channel: to.channel,
    to: to.chat.id,
    messageIds,
    ...(messageId !== undefined && { messageId }),
  };
  const why = reason === undefined ? "" : ` (${reason})`;
  if (state === "failed") {
    const some = messageIds.length > 0 ? `Only its first part was accepted: message ${messageIds.join(", ")}. ` : "";
    return errorResult(`${some}${where} did not accept the message${why}.`, details);
  }
  if (state === "queued")
    return textResult(`It waits for ${where}${why} and goes out by itself; do not send it again.`, details);
  const twice = possibleRepeat === true ? " It may be in the chat twice and is marked as a possible repeat." : "";
  const loud = isLoud === true ? " It was not silent: the platform has no silent messages." : "";
  return textResult(`Sent to ${where}, message id ${messageIds.join(", ")}.${loud}${twice}`, details);
}

/** The name of a chat, in the form that the tool accepts. */
export const targetName = ({ channel, chat, thread }: Peer): string =>
  `${channel}:${chat.id}${thread === undefined ? "" : `:thread:${thread}`}`;
