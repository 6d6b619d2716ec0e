import type { InboxRow } from "../../types/journal.ts";
import type { Peer } from "../../types/chat/message.ts";

/** One chat and one place in it: people in another thread do not see what is said here. */
export const isSameChat = (one: Peer, other: Peer): boolean =>
  one.channel === other.channel &&
  one.account === other.account &&
  one.chat.id === other.chat.id &&
  one.thread === other.thread;

/** Some messages stand in other threads of a chat than the others: one answer could not be seen by both. */
export const areThreadsApart = (some: readonly InboxRow[], others: readonly InboxRow[]): boolean =>
  some.some(({ message: { from: one } }) =>
    others.some(({ message: { from: other } }) => !isSameChat(one, other) && isSameChat(inMain(one), inMain(other))),
  );

function inMain({ thread: _thread, ...chat }: Peer): Peer {
  return chat;
}
