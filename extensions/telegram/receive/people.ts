import type { Chat, User } from "grammy/types";
import type { AccountId, Peer, Sender } from "openclaw/plugin-sdk";
import type { Self } from "../api.ts";
import { TELEGRAM } from "../config.ts";

/** What the conversion of an update needs to know about this account. */
export interface View {
  readonly account: AccountId;
  readonly self: Self;
  readonly now: number;
  /** The bot's own messages in groups. */
  readonly own?: {
    has(chatId: number, messageId: number): boolean;
    topicOf(chatId: number, messageId: number): string | undefined;
  };
  readonly forums?: { topicName(chatId: number, topic: string): string | undefined };
  /** Posts that the bot received in their channels. */
  readonly posts?: { has(chatId: number, messageId: number): boolean };
}

/** The chat of a message as the gateway knows it. */
export function peerOf(chat: Chat, thread: string | undefined, account: AccountId): Peer {
  return {
    channel: TELEGRAM,
    account,
    chat: {
      kind: chat.type === "private" ? "direct" : "group",
      id: String(chat.id),
      ...(chat.title !== undefined && { title: chat.title }),
    },
    ...(thread !== undefined && { thread }),
  };
}

/** A person or a bot. */
export function userOf(user: User): Sender {
  return {
    id: String(user.id),
    name: [user.first_name, user.last_name].filter(Boolean).join(" "),
    ...(user.username !== undefined && { username: user.username }),
    ...(user.is_bot && { isBot: true }),
  };
}
