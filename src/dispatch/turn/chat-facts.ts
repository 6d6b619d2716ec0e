import type { InboundMessage, Sender } from "../../types/chat/message.ts";
import type { SessionPatch } from "../../types/session.ts";

/** The fields of a session's row about its chat: its kind, its name, and where the last message came from. */
export function chatFacts(message: InboundMessage): SessionPatch {
  // An operator who writes into a channel's session does not change its chat.
  if (message.options?.operator === true)
    return isWebChat(message) ? { chatType: "direct", lastChannel: "webchat" } : {};
  const { sender } = message;
  const { channel, account, chat, thread } = message.from;
  const isGroup = chat.kind === "group";
  const name = isGroup ? chat.title : (message.sender.name ?? message.sender.username);
  return {
    chatType: thread === undefined ? chat.kind : "thread",
    channel,
    lastChannel: channel,
    lastTo: `${channel}:${chat.id}`,
    lastAccountId: account,
    origin: { provider: channel, from: `${channel}:${nameOf(sender)}` },
    ...(thread !== undefined && { lastThreadId: thread }),
    ...(isGroup && { groupId: chat.id }),
    ...(isGroup && chat.title !== undefined && { subject: chat.title }),
    ...(name !== undefined && { displayName: name }),
  };
}

const nameOf = ({ id, e164 = id }: Sender): string => e164;

const isWebChat = (message: InboundMessage): boolean => message.options?.sessionKey?.startsWith("webchat:") ?? true;
