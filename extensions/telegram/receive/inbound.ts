import type {
  CallbackQuery,
  MaybeInaccessibleMessage,
  Message,
  Update,
  MessageReactionUpdated,
  ReactionType,
  User,
  Chat,
  MessageOrigin,
} from "grammy/types";
import type {
  InboundMessage,
  QuotedMessage,
  Sender,
  ReactionFacts,
  MediaItem,
  MediaKind,
  ChatNews,
  AccountId,
  Peer,
} from "openclaw/plugin-sdk";
import { addressedText, textOf } from "./mentions.ts";
import { postOf } from "../posts.ts";
import { editedIn, newIn } from "../updates.ts";
import type { Self } from "../api.ts";
import { TELEGRAM } from "../config.ts";

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
  const address = addressedText(message, view.self);
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

/** News about its chat in a service message. */
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

/** The changes of a message's reactions: an added emoji, a removed one, or both. Anonymous counts are left out. */
function reacted(change: MessageReactionUpdated, eventKey: string, view: View): readonly InboundMessage[] {
  const { chat, user, actor_chat: actor } = change;
  const messageId = String(change.message_id);
  const before = change.old_reaction.map(nameOf);
  const after = change.new_reaction.map(nameOf);
  const toBot = chat.type === "private" || view.own?.has(chat.id, change.message_id) === true;
  const facts = (emoji: string): ReactionFacts => ({ emoji, messageId, ...(toBot && { toBot }) });
  const changes: readonly ReactionFacts[] = [
    ...before.filter((emoji) => !after.includes(emoji)).map((emoji) => ({ ...facts(emoji), removed: true })),
    ...after.filter((emoji) => !before.includes(emoji)).map(facts),
  ];
  const title = actor?.title;
  const chatSender = { id: String((actor ?? chat).id), ...(title !== undefined && { name: title }) };
  return changes.map((reaction, index) => ({
    id: messageId,
    eventKey: index === 0 ? eventKey : `${eventKey}.${index}`,
    from: peerOf(chat, view.own?.topicOf(chat.id, change.message_id), view.account),
    sender: user ? userOf(user) : chatSender,
    text: "",
    media: [],
    mentionsBot: chat.type === "private",
    event: "reaction",
    reaction,
    receivedAt: view.now,
    sentAt: change.date * 1000,
  }));
}

function nameOf(reaction: ReactionType): string {
  if (reaction.type === "emoji") return reaction.emoji;
  return reaction.type === "paid" ? "⭐" : `custom emoji ${reaction.custom_emoji_id}`;
}

interface TelegramFile {
  readonly file_id: string;
  readonly file_size?: number;
  readonly mime_type?: string;
  readonly file_name?: string;
  readonly duration?: number;
}

/** The files of a message, which stay on the platform. An album is several messages of one file each. */
function mediaOf(message: Message): readonly MediaItem[] {
  const { photo, sticker } = message;
  const largest = photo?.toSorted((a, b) => a.width * a.height - b.width * b.height).at(-1);
  if (largest) return [item("image", largest, "image/jpeg")];
  if (sticker) return [item("sticker", sticker, stickerMime(sticker))];
  // Telegram repeats an animation as a document.
  const video = message.animation ?? message.video ?? message.video_note;
  if (video) return [item("video", video, "video/mp4")];
  if (message.voice) return [item("voice", message.voice, "audio/ogg")];
  if (message.audio) return [item("audio", message.audio)];
  const document = message.document;
  return document ? [item(document.mime_type?.startsWith("image/") ? "image" : "document", document)] : [];
}

function item(kind: MediaKind, file: TelegramFile, defaultMime?: string): MediaItem {
  const mime = file.mime_type ?? defaultMime;
  return {
    kind,
    ...(mime !== undefined && { mime }),
    ...(file.file_name !== undefined && { name: file.file_name }),
    ...(file.file_size !== undefined && { bytes: file.file_size }),
    ...(file.duration !== undefined && { durationSeconds: file.duration }),
    source: { at: "platform", ref: file.file_id },
  };
}

function stickerMime(sticker: { is_animated: boolean; is_video: boolean }): string {
  if (sticker.is_animated) return "application/x-tgsticker";
  return sticker.is_video ? "video/webm" : "image/webp";
}

/** The news in one of Telegram's service messages: https://core.telegram.org/bots/api#message. None about the bot itself. */
function newsOf(message: Message, { self }: Pick<View, "self">): ChatNews | undefined {
  const { pinned_message: pinned, new_chat_members: joined, left_chat_member: left, new_chat_title: title } = message;
  if (pinned) return { kind: "pinned", messageId: String(pinned.message_id) };
  if (joined) return joinedNews(joined, message, self.id);
  if (left) return left.id === self.id ? undefined : { kind: "left", ...subjectOf([left], message) };
  const renamed = title ?? message.forum_topic_edited?.name;
  return renamed === undefined ? undefined : { kind: "renamed", subject: renamed };
}

function joinedNews(members: readonly User[], message: Message, selfId: number): ChatNews | undefined {
  const people = members.filter(({ id }) => id !== selfId);
  return people.length === 0 ? undefined : { kind: "joined", ...subjectOf(people, message) };
}

/** The names of people, unless it is the sender alone. */
function subjectOf(people: readonly User[], { from }: Message): Pick<ChatNews, "subject"> {
  const [first, ...more] = people;
  if (first?.id === from?.id && more.length === 0) return {};
  return { subject: people.map((person) => userOf(person).name).join(", ") };
}

/** Facts about this account that the conversion of an update needs. */
interface View {
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

/** A person or a bot. */
function userOf(user: User): Sender {
  return {
    id: String(user.id),
    name: [user.first_name, user.last_name].filter(Boolean).join(" "),
    ...(user.username !== undefined && { username: user.username }),
    ...(user.is_bot && { isBot: true }),
  };
}

/** Lines about content that is neither text nor a file: the origin of a forwarded message, a place, a contact. */
export function untrustedOf(message: Message): readonly string[] {
  const lines = [
    message.forward_origin && `Forwarded from ${originOf(message.forward_origin)}`,
    place(message),
    message.contact && contact(message.contact),
    message.sticker && `Sticker: ${[message.sticker.emoji, message.sticker.set_name].filter(Boolean).join(" ")}`,
    message.poll && `Poll: ${message.poll.question} (${message.poll.options.map((option) => option.text).join(" / ")})`,
    ...otherContent(message),
    message.external_reply && elsewhere(message),
    message.dice && `Dice: ${message.dice.emoji} ${message.dice.value}`,
  ];
  return lines.filter((line) => line !== undefined);
}

function originOf(origin: MessageOrigin): string {
  switch (origin.type) {
    case "user":
      return [origin.sender_user.first_name, origin.sender_user.last_name].filter(Boolean).join(" ");
    case "hidden_user":
      return origin.sender_user_name;
    case "chat":
      return origin.sender_chat.title ?? String(origin.sender_chat.id);
    case "channel":
      return origin.chat.title;
  }
}

const taskText = ({
  text,
  completion_date: done,
}: {
  readonly text: string;
  readonly completion_date?: number;
}): string => (done === undefined ? text : `${text}, done`);

/** Content of which the bot only sees a part. */
function otherContent({ checklist, game, story, paid_media: paid }: Message): readonly (string | undefined)[] {
  return [
    checklist && `Checklist: ${checklist.title} (${checklist.tasks.map(taskText).join(" / ")})`,
    game && `Game: ${game.title}`,
    story && `Story of ${story.chat.title ?? story.chat.first_name ?? story.chat.id}`,
    paid && `Paid media, not visible to bots: ${paid.paid_media.length}`,
  ];
}

/** A reply to a message of another chat. The bot only sees the quoted part of that message. */
function elsewhere({ external_reply: reply, quote }: Message): string | undefined {
  return reply && `Reply to a message of ${originOf(reply.origin)}${quote ? `: ${quote.text}` : " in another chat"}`;
}

function place(message: Message): string | undefined {
  const { venue, location } = message;
  if (venue) return `Place: ${venue.title}, ${venue.address} (${venue.location.latitude}, ${venue.location.longitude})`;
  return location && `Location: ${location.latitude}, ${location.longitude}`;
}

const contact = (person: { first_name: string; last_name?: string; phone_number: string }): string =>
  `Contact: ${[person.first_name, person.last_name].filter(Boolean).join(" ")}, ${person.phone_number}`;
