import type { InboxRow } from "../../types/journal.ts";
import type { Peer } from "../../types/chat/message.ts";

/** Whether both are the same thread of the same chat: people see only their own thread. */
export const isSameChat = (one: Peer, other: Peer): boolean =>
  one.channel === other.channel &&
  one.account === other.account &&
  one.chat.id === other.chat.id &&
  one.thread === other.thread;

/** True when not all of these messages are in one thread of one chat, so that people could not all see one answer. */
export const areChatsApart = (some: readonly InboxRow[], others: readonly InboxRow[]): boolean =>
  some.some(({ message: { from: one } }) => others.some(({ message: { from: other } }) => !isSameChat(one, other)));
