import { parseKey } from "./keys.ts";
import { accountId, channelId, type AgentId, type SessionKey } from "../types/ids.ts";
import type { Peer } from "../types/chat/message.ts";
import type { SessionEntry } from "../types/session.ts";

/** The chat of a channel's session, from its row, else from its key. Undefined for a session without a chat (web, command line). */
export function chatOf(
  key: SessionKey,
  entry: Readonly<SessionEntry> | undefined,
  defaultAgent: AgentId,
): Peer | undefined {
  return peerOfRow(entry) ?? peerOfKey(key, defaultAgent);
}

function peerOfRow(entry: Readonly<SessionEntry> | undefined): Peer | undefined {
  const { lastChannel, lastTo, lastAccountId = "default", lastThreadId, groupId } = entry ?? {};
  if (lastChannel === undefined || lastChannel === "webchat" || !lastTo?.startsWith(`${lastChannel}:`))
    return undefined;
  const id = lastTo.slice(lastChannel.length + 1);
  return {
    channel: channelId(lastChannel),
    account: accountId(lastAccountId),
    chat: { kind: groupId === undefined ? "direct" : "group", id },
    ...(lastThreadId !== undefined && { thread: lastThreadId }),
  };
}

/** On most platforms a direct chat has the sender's id. */
function peerOfKey(key: SessionKey, defaultAgent: AgentId): Peer | undefined {
  const parsed = parseKey(key, defaultAgent);
  if ((parsed.kind !== "direct" && parsed.kind !== "group") || parsed.channel === "webchat") return undefined;
  const chat =
    parsed.kind === "direct"
      ? { kind: "direct" as const, id: parsed.sender }
      : { kind: "group" as const, id: parsed.group };
  return {
    channel: channelId(parsed.channel),
    account: accountId(parsed.account),
    chat,
    ...(parsed.thread !== undefined && { thread: parsed.thread }),
  };
}
