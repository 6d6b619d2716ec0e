import type { CallbackQuery, MaybeInaccessibleMessage, Message, Update } from "grammy/types";
import type { InboundMessage, QuotedMessage, Sender } from "openclaw/plugin-sdk";
import { mediaOf } from "./media.ts";
import { addressOf, textOf } from "./mentions.ts";
import { newsOf } from "./news.ts";
import { peerOf, userOf } from "./people.ts";
import type { View } from "./people.ts";
import { postOf } from "./posts.ts";
import { reacted } from "./reactions.ts";
import { untrustedOf } from "./untrusted.ts";
import { editedIn, newIn } from "./updates.ts";

/** The messages in an update; none when it has nothing for an agent. */
export function readUpdate(update: Update, view: View): readonly InboundMessage[] {
  const eventKey = `u${update.update_id}`;
  if (update.message_reaction) return reacted(update.message_reaction, eventKey, view);
  const message = readMessage(update, eventKey, view);
  return message ? [message] : [];
}

/** The album that a new message is part of. */
export function albumOf(update: Update): string | undefined {
  const message = newIn(update);
  const id = message?.media_group_id;
  return id === undefined ? undefined : `${message?.chat.id}:${id}`;
}

function readMessage(update: Update, eventKey: string, view: View): InboundMessage | undefined {
  if (update.callback_query) return pressed(update.callback_query, eventKey, view);
  const fresh = newIn(update);
  if (fresh) return written(fresh, eventKey, view) ?? told(fresh, eventKey, view);
  const edited = editedIn(update);
  // A live location causes an edit every few seconds.
  if (!edited || edited.location) return undefined;
  const message = written(edited, eventKey, view);
  return message && { ...message, isEdit: true };
}

function written(message: Message, eventKey: string, view: View): InboundMessage | undefined {
  // The agent must not answer its own messages.
  if (isOurs(message, view)) return undefined;
  const address = addressOf(message, view.self);
  const { text } = address;
  const media = mediaOf(message);
  const untrusted = untrustedOf(message);
  if (text === "" && media.length === 0 && untrusted.length === 0) return undefined;
  const quoted = quoteOf(message, view);
  const direct = message.chat.type === "private";
  return {
    id: String(message.message_id),
    eventKey,
    from: peerOf(message.chat, threadOf(message), view.account),
    sender: senderOf(message),
    text,
    media,
    mentionsBot: direct || (address.named && !isAnsweredInChannel(message, view)) || quoted?.fromBot === true,
    receivedAt: view.now,
    sentAt: (message.edit_date ?? message.date) * 1000,
    ...(quoted && { replyTo: quoted }),
    ...contextOf(message, view),
    ...(untrusted.length > 0 && { untrusted }),
  };
}

function contextOf(message: Message, { forums }: View): Pick<InboundMessage, "context"> {
  const topic = threadOf(message);
  const threadName = topic === undefined ? undefined : forums?.topicName(message.chat.id, topic);
  const context = {
    ...(threadName !== undefined && { threadName }),
    ...(message.forward_origin && { isForwarded: true }),
  };
  return Object.keys(context).length > 0 ? { context } : {};
}

/** What a service message says about its chat. */
function told(message: Message, eventKey: string, view: View): InboundMessage | undefined {
  const news = isOurs(message, view) ? undefined : newsOf(message, view);
  return (
    news && {
      id: String(message.message_id),
      eventKey,
      from: peerOf(message.chat, threadOf(message), view.account),
      sender: senderOf(message),
      text: "",
      media: [],
      mentionsBot: message.chat.type === "private",
      event: "news",
      news,
      receivedAt: view.now,
      sentAt: message.date * 1000,
    }
  );
}

/** Whether the bot wrote a message. Posts and their copies in the discussion group do not name the administrator who wrote them. */
function isOurs(message: Message, { self, own }: View): boolean {
  const { from, chat, message_id: id } = message;
  if (from?.id === self.id) return true;
  const post = chat.type === "channel" ? { chatId: chat.id, id } : postOf(message);
  return post !== undefined && own?.has(post.chatId, post.id) === true;
}

/** Whether a message is the discussion group's copy of a post that the bot answers in its channel. */
function isAnsweredInChannel(message: Message, { posts }: View): boolean {
  const post = postOf(message);
  return post !== undefined && posts?.has(post.chatId, post.id) === true;
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

// Replies in supergroups without topics have a thread id too.
const threadOf = (
  message: Pick<MaybeInaccessibleMessage, "is_topic_message" | "message_thread_id">,
): string | undefined =>
  message.is_topic_message && message.message_thread_id !== undefined ? String(message.message_thread_id) : undefined;

/** Anonymous admins and linked channels write through one of Telegram's bots; the chat that they represent is the sender. */
function senderOf(message: Message): Sender {
  const { sender_chat: represented, from, chat: own } = message;
  if (!represented && from) return userOf(from);
  const chat = represented ?? own;
  return {
    id: String(chat.id),
    ...(chat.title !== undefined && { name: chat.title }),
    ...(chat.username !== undefined && { username: chat.username }),
    ...(isBots(message) && { isBot: true }),
  };
}

/** Whether a bot wrote a post, as far as Telegram says. In groups, the nominal author of a chat's messages is one of Telegram's bots. */
function isBots(message: Message): boolean {
  if (message.chat.type === "channel") return message.via_bot !== undefined || message.from?.is_bot === true;
  return message.is_automatic_forward === true && message.via_bot !== undefined;
}

function quoteOf(message: Message, view: View): QuotedMessage | undefined {
  const original = message.reply_to_message;
  // Every message of a topic formally replies to the message that created it.
  if (!original || original.forum_topic_created) return undefined;
  const sender = senderOf(original).name;
  const text = message.quote?.text ?? textOf(original);
  const media = mediaOf(original);
  return {
    id: String(original.message_id),
    ...(sender !== undefined && { sender }),
    ...(text !== undefined && { text }),
    ...(media.length > 0 && { media }),
    ...(isOurs(original, view) && !isAnsweredInChannel(message, view) && { fromBot: true }),
  };
}
