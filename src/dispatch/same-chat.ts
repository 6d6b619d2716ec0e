import type { Peer } from "../types/message.ts";

/** One chat and one place in it: people in another thread do not see what is said here. */
export const isSameChat = (one: Peer, other: Peer): boolean =>
  one.channel === other.channel &&
  one.account === other.account &&
  one.chat.id === other.chat.id &&
  one.thread === other.thread;
