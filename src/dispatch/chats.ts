import type { InboxRow } from "../types/journal.ts";
import type { Peer, InboundMessage } from "../types/chat/message.ts";
import type { CommandForm } from "../types/chat/channel.ts";
import type { DispatchPorts } from "./ports.ts";

/** Whether both chats are the same thread of the same chat: people see only their own thread. */
export const isSameChat = (one: Peer, other: Peer): boolean =>
  one.channel === other.channel &&
  one.account === other.account &&
  one.chat.id === other.chat.id &&
  one.thread === other.thread;

/** True when not all of these messages are in one thread of one chat, so that people could not all see one answer. */
export const areChatsApart = (some: readonly InboxRow[], others: readonly InboxRow[]): boolean =>
  some.some(({ message: { from: one } }) => others.some(({ message: { from: other } }) => !isSameChat(one, other)));

/**
 * The message as the chat that is answered knows it: an operator's message has no id there that could be quoted.
 * Undefined when no chat of a channel is answered.
 */
export function addressed(message: InboundMessage): InboundMessage | undefined {
  if (message.options?.operator !== true) return message;
  const { deliverTo } = message.options;
  return deliverTo && { ...message, id: "", from: deliverTo };
}

/** Whether a client of the operator reads the answer, and no chat of a channel does. */
export const isForClient = ({ options }: InboundMessage): boolean =>
  options?.operator === true && options.deliverTo === undefined;

/**
 * How people of this chat write a command. Undefined where that is a slash and the name, or while the chat has no link.
 */
export const commandFormOf = ({ chats: { link } }: Pick<DispatchPorts, "chats">, chat: Peer): CommandForm | undefined =>
  link(chat)?.commandForm?.(chat);

/**
 * A text of the gateway that names commands such as `/new`, with each command in the form that people of the chat
 * write.
 */
export const inCommandForm = (text: string, { prefix }: CommandForm = { prefix: "/" }): string =>
  text.replaceAll(/(?<=^|\s)\/(?=[a-z])/g, () => prefix);
