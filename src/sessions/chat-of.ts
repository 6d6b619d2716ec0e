import { parseKey } from "./keys.ts";
import { accountId, channelId, type AgentId, type SessionKey } from "../types/ids.ts";
import type { Peer } from "../types/chat/message.ts";
import type { SessionEntry, Sessions } from "../types/session.ts";

/** The chat of a channel's session, from its row, else from its key. Undefined for a session without a chat (web, command line). */
export function chatOf(
  key: SessionKey,
  entry: Readonly<SessionEntry> | undefined,
  defaultAgent: AgentId,
): Peer | undefined {
  return peerOfRow(entry) ?? peerOfKey(key, defaultAgent);
}

/**
 * The session of a chat; `key` is that of a message there from somebody with the chat's id. The key of a direct chat
 * names its person, and on some platforms the chat has another id: the session that was used last in the chat, or by
 * its person, has priority.
 */
export function keyOfChat(
  to: Peer,
  key: SessionKey,
  { sessions, defaultAgent }: { readonly sessions: Pick<Sessions, "newest">; readonly defaultAgent: AgentId },
): SessionKey {
  const parsed = parseKey(key, defaultAgent);
  if (parsed.kind !== "direct") return key;
  const people = [to.chat.id];
  for (const row of sessions.newest({ agent: parsed.agentId, chatType: "direct", channel: to.channel, people })) {
    const chat = chatOf(row.key, row.entry, defaultAgent);
    if (chat?.channel === to.channel && chat.account === to.account) return row.key;
  }
  return key;
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

/** Peer of a key. On most platforms a direct chat has the sender's id. */
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
