import type { CallbackQuery, Chat, MaybeInaccessibleMessage, Message, Update, User } from "grammy/types";
import type { AccountId, InboundMessage, Peer, QuotedMessage, Sender } from "openclaw/plugin-sdk";
import type { Self } from "./api.ts";
import { TELEGRAM } from "./config.ts";
import { mediaOf } from "./media.ts";
import { addressOf } from "./mentions.ts";
import { untrustedOf } from "./untrusted.ts";

/** Whose eyes read an update. */
export interface View {
  readonly account: AccountId;
  readonly self: Self;
  readonly now: number;
}

/** The message that an update carries, or undefined when there is nothing in it for an agent. */
export function readUpdate(update: Update, view: View): InboundMessage | undefined {
  const eventKey = `u${update.update_id}`;
  if (update.callback_query) return pressed(update.callback_query, eventKey, view);
  if (update.message) return written(update.message, eventKey, view);
  // A live location is an edit every few seconds.
  if (!update.edited_message || update.edited_message.location) return undefined;
  const message = written(update.edited_message, eventKey, view);
  return message && { ...message, isEdit: true };
}

function written(message: Message, eventKey: string, view: View): InboundMessage | undefined {
  const address = addressOf(message, view.self);
  const media = mediaOf(message);
  const untrusted = untrustedOf(message);
  if (address.text === "" && media.length === 0 && untrusted.length === 0) return undefined;
  const quoted = quoteOf(message, view.self);
  const direct = message.chat.type === "private";
  return {
    id: String(message.message_id),
    eventKey,
    from: peerOf(message.chat, threadOf(message), view.account),
    sender: senderOf(message),
    text: address.text,
    media,
    mentionsBot: direct || address.named || quoted?.fromBot === true,
    receivedAt: view.now,
    sentAt: (message.edit_date ?? message.date) * 1000,
    ...(quoted && { replyTo: quoted }),
    ...(untrusted.length > 0 && { untrusted }),
  };
}

function pressed(query: CallbackQuery, eventKey: string, view: View): InboundMessage | undefined {
  if (query.data === undefined || query.message === undefined) return undefined;
  return {
    id: String(query.message.message_id),
    eventKey,
    from: peerOf(query.message.chat, threadOf(query.message), view.account),
    sender: userOf(query.from),
    text: query.data,
    media: [],
    mentionsBot: true,
    event: "button",
    receivedAt: view.now,
  };
}

function peerOf(chat: Chat, thread: string | undefined, account: AccountId): Peer {
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

// Replies in ordinary supergroups carry a thread id too, which is no topic.
const threadOf = (
  message: Pick<MaybeInaccessibleMessage, "is_topic_message" | "message_thread_id">,
): string | undefined =>
  message.is_topic_message && message.message_thread_id !== undefined ? String(message.message_thread_id) : undefined;

/** Anonymous admins and linked channels write through a bot of Telegram's; the chat that they stand for is the sender. */
function senderOf(message: Message): Sender {
  const chat = message.sender_chat;
  if (chat) {
    return {
      id: String(chat.id),
      ...(chat.title !== undefined && { name: chat.title }),
      ...(chat.username !== undefined && { username: chat.username }),
    };
  }
  return message.from ? userOf(message.from) : { id: String(message.chat.id) };
}

function userOf(user: User): Sender {
  return {
    id: String(user.id),
    name: nameOf(user),
    ...(user.username !== undefined && { username: user.username }),
    ...(user.is_bot && { isBot: true }),
  };
}

const nameOf = (user: User): string => [user.first_name, user.last_name].filter(Boolean).join(" ");

function quoteOf(message: Message, self: Self): QuotedMessage | undefined {
  const original = message.reply_to_message;
  // Every message of a topic "replies" to the notice that opened it.
  if (!original || original.forum_topic_created) return undefined;
  const sender = senderOf(original).name;
  const text = message.quote?.text ?? original.text ?? original.caption;
  return {
    id: String(original.message_id),
    ...(sender !== undefined && { sender }),
    ...(text !== undefined && { text }),
    ...(original.from?.id === self.id && { fromBot: true }),
  };
}
