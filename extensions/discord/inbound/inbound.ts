import type { GatewayMessageDeleteDispatchData } from "discord-api-types/v10";
import type { InboundMessage, MessageContext, QuotedMessage, Sender, ChatNews } from "openclaw/plugin-sdk";
import type { z } from "zod";
import type { DispatchEvent } from "../connection.ts";
import { readInteraction } from "./interactions.ts";
import { mediaOf } from "./media.ts";
import {
  messageShape,
  reactionShape,
  type Message,
  type Person,
  type PlainMessage,
  type Reaction,
} from "../message-shape.ts";
import { DM, peerOf, timeOf, type Place } from "../places.ts";
import { askMessage } from "../threads.ts";
import { selfId, type Bot, type EventContext } from "../bot.ts";
import { nameOf, readable, snapshotsOf, untrustedOf, authorOf, wholeText, type Names } from "../text.ts";

/** Plain messages, replies, and other bots' answers to commands. Other types are Discord's notices. */
const WRITTEN = new Set([0, 19, 20, 23]);
const REPLY = 19;

/** The chat of an event that may hold something for an agent. The events of one chat are read in their order. */
export function eventChannel({ payload }: DispatchEvent): string | undefined {
  switch (payload.t) {
    case "MESSAGE_CREATE":
    case "MESSAGE_UPDATE":
    case "MESSAGE_DELETE":
    case "MESSAGE_DELETE_BULK":
    case "MESSAGE_REACTION_ADD":
    case "MESSAGE_REACTION_REMOVE":
      return payload.d.channel_id;
    case "INTERACTION_CREATE":
      return payload.d.channel?.id ?? payload.d.channel_id ?? payload.d.id;
    default:
      return undefined;
  }
}

/** The messages in an event; none when it holds nothing for an agent. Throws when Discord does not answer. */
export async function readEvent(event: DispatchEvent, context: EventContext): Promise<readonly InboundMessage[]> {
  const { payload } = event;
  if (payload.t === "MESSAGE_DELETE_BULK") {
    const { ids, ...where } = payload.d;
    const deletions = await Promise.all(ids.map((id) => readDeletion({ ...where, id }, context)));
    return deletions.flatMap((deletion) => deletion ?? []);
  }
  const message = await readOne(event, context);
  return message ? [message] : [];
}

async function readOne(
  { payload, sequence }: DispatchEvent,
  context: EventContext,
): Promise<InboundMessage | undefined> {
  switch (payload.t) {
    case "MESSAGE_CREATE":
      return readCreated(soundOf(messageShape, payload.d), context);
    case "MESSAGE_UPDATE":
      // Discord also sends this event when it added a preview to a message.
      return payload.d.edited_timestamp == null ? undefined : readEdit(soundOf(messageShape, payload.d), context);
    case "MESSAGE_DELETE":
      return readDeletion(payload.d, context);
    case "MESSAGE_REACTION_ADD":
      return readReaction(soundOf(reactionShape, payload.d), { context, sequence, removed: false });
    case "MESSAGE_REACTION_REMOVE":
      return readReaction(soundOf(reactionShape, payload.d), { context, sequence, removed: true });
    case "INTERACTION_CREATE":
      return readInteraction(payload.d, context);
    default:
      return undefined;
  }
}

/** The sound fields of an event's data. Throws `TypeError` where the kind or the author of the event is unknown. */
function soundOf<T>(shape: z.ZodType<T>, data: unknown): T {
  const { data: sound, error } = shape.safeParse(data);
  if (sound === undefined) throw new TypeError(error?.issues.map(({ path }) => path.join(".")).join(", "));
  return sound;
}

async function readEdit(message: Message, context: EventContext): Promise<InboundMessage | undefined> {
  if (message.edited_timestamp === undefined) return undefined;
  const edited = Date.parse(message.edited_timestamp);
  const read = await readMessage(message, context);
  if (read) context.bot.known.edited.set(message.id, true);
  return read && { ...read, eventKey: `${read.eventKey}:${edited}`, isEdit: true, sentAt: edited };
}

/** A message that is brought as new. After a gap that may be later than its edit, which has all that it says. */
export async function readCreated(message: Message, context: EventContext): Promise<InboundMessage | undefined> {
  const { known, host } = context.bot;
  if (known.edited.get(message.id) !== true) return readMessage(message, context);
  host.log.info("a message was left out: its edit came before it", { message: message.id });
  return undefined;
}

/** Throws when Discord does not answer. */
async function readMessage(message: Message, context: EventContext): Promise<InboundMessage | undefined> {
  const { bot } = context;
  if (message.author.id === selfId(bot)) return remember(message, bot);
  if (WRITTEN.has(message.type)) return readWritten(message, context);
  if (!isNotice(message)) return undefined;
  const place = await placeOf(message, bot);
  return readNotice(message, envelopeOf(message, place, context));
}

async function readWritten(message: Message, context: EventContext): Promise<InboundMessage | undefined> {
  const { bot } = context;
  const place = await placeOf(message, bot);
  const { isNamed, names } = await mentionsIn(message, place, bot);
  const content = contentOf(message, { place, names, bot });
  if (isEmpty(content) && !isNamed) {
    bot.host.log.info("a message was left out: it has nothing that can be shown to an agent", { message: message.id });
    return undefined;
  }
  const isWith = place.kind === "direct" ? place.personId : undefined;
  if (isWith === message.author.id) await bot.directs.remember(isWith, place.id);
  const replyTo = await quoteOf(message, names, bot);
  const mentionsBot = place.kind === "direct" || isNamed || replyTo?.fromBot === true;
  const around = await bot.threads.contextOf(message, { place, isNamed: mentionsBot, bot });
  const envelope = envelopeOf(message, place, context);
  bot.known.authors.set(message.id, envelope.sender);
  return {
    ...envelope,
    ...content,
    mentionsBot,
    ...(replyTo && { replyTo }),
    ...contextFact({ ...around, ...(snapshotsOf(message).length > 0 && { isForwarded: true }) }),
  };
}

/** A bot gets events of no direct chats but its own, and the author of a message there is the other person. */
async function placeOf(
  { channel_id: id, guild_id: guildId, channel_type: type, author }: Message,
  { places, api }: Bot,
): Promise<Place> {
  if (guildId === undefined && type === DM) return { id, kind: "direct", personId: author.id };
  return places.find({ id, ...(guildId !== undefined && { guildId }) }, api);
}

const contextFact = (context: MessageContext): Pick<InboundMessage, "context"> =>
  Object.keys(context).length > 0 ? { context } : {};

const isEmpty = ({ text, media, untrusted }: Pick<InboundMessage, "text" | "media" | "untrusted">): boolean =>
  text === "" && media.length === 0 && !untrusted;

function envelopeOf(message: Message, place: Place, { bot, now }: EventContext): Envelope {
  const guildId = guildOf(message, place);
  return {
    id: message.id,
    eventKey: `m${message.id}`,
    from: peerOf(place, bot.places, { account: bot.host.account, personId: message.author.id }),
    sender: senderOf(message.author, message),
    receivedAt: now,
    sentAt: sentAtOf(message),
    ...(guildId !== undefined && { guildId }),
  };
}

const sentAtOf = ({ id, timestamp }: Message): number => {
  const at = Date.parse(timestamp);
  return Number.isNaN(at) ? timeOf(id) : at;
};

const guildOf = (message: Message, place: Place): string | undefined => message.guild_id ?? place.guildId;

function contentOf(
  message: Message,
  { place, names, bot }: { place: Place; names: Names; bot: Bot },
): Pick<InboundMessage, "text" | "media" | "untrusted"> {
  const untrusted = [...titleOf(place, message), ...untrustedOf(message, names)];
  return {
    text: readable(message.content, names),
    media: mediaOf(message, bot.config.cdnUrl),
    ...(untrusted.length > 0 && { untrusted }),
  };
}

/** The bot's own message: proof that a send arrived. */
function remember(message: Message, bot: Bot): undefined {
  bot.known.own.set(message.id, true);
  if (message.nonce !== undefined) bot.nonces.set(String(message.nonce), message.id);
  return undefined;
}

const titleOf = (place: Place, message: Message): readonly string[] =>
  place.kind === "post" && place.id === message.id ? [`Forum post: ${place.name ?? ""}`] : [];

async function mentionsIn(
  message: Message,
  place: Place,
  bot: Bot,
): Promise<{ readonly isNamed: boolean; readonly names: Names }> {
  const id = selfId(bot);
  const guildId = guildOf(message, place);
  const asksRoles = guildId !== undefined && message.mention_roles.length > 0;
  const guild = asksRoles ? await bot.places.guild(guildId, id, bot.api) : undefined;
  const isNamed =
    message.mentions.some((user) => user.id === id) || message.mention_roles.some((role) => guild?.own.includes(role));
  const { own: ownRoles = [], roles = new Map<string, string>() } = guild ?? {};
  return { isNamed, names: { users: message.mentions, roles, places: bot.places, selfId: id, ownRoles } };
}

/** Webhooks write without being members. */
function senderOf(author: Person, message: Message): Sender {
  const { member, webhook_id: webhook } = message;
  const isBot = author.bot === true || webhook !== undefined;
  return { ...authorOf(author, member), ...(isBot && { isBot: true }) };
}

async function quoteOf(message: Message, names: Names, bot: Bot): Promise<QuotedMessage | undefined> {
  const id = message.type === REPLY ? message.message_reference?.message_id : undefined;
  if (id === undefined) return undefined;
  // Null: it was deleted. Undefined: Discord did not look.
  const original = message.referenced_message ?? (await lookUp(message, id, bot));
  if (!original) return { id };
  return {
    id,
    sender: nameOf(original.author),
    text: wholeText(original, { ...names, users: [...names.users, ...original.mentions] }),
    ...(original.author.id === selfId(bot) && { fromBot: true }),
  };
}

const lookUp = async (message: Message, id: string, bot: Bot): Promise<PlainMessage | undefined> =>
  message.referenced_message === null ? undefined : askMessage(bot, message.channel_id, id);

async function readReaction(
  event: Reaction,
  { context, sequence, removed }: { context: EventContext; sequence: number; removed: boolean },
): Promise<InboundMessage | undefined> {
  const { bot, now, session } = context;
  const { user_id: person, message_id: messageId, guild_id: guildId, member, emoji } = event;
  if (person === selfId(bot) || emoji.name === undefined) return undefined;
  const place = await bot.places.find({ id: event.channel_id, ...(guildId !== undefined && { guildId }) }, bot.api);
  const toBot = event.message_author_id === selfId(bot) || bot.known.own.get(messageId) === true;
  return {
    id: messageId,
    // Discord gives reactions no id: one person may add and remove the same one many times.
    eventKey: `r${session}:${sequence}`,
    from: peerOf(place, bot.places, { account: bot.host.account, personId: person }),
    sender: member?.user ? authorOf(member.user, member) : { id: person },
    text: "",
    media: [],
    mentionsBot: place.kind === "direct",
    event: "reaction",
    reaction: {
      emoji: emoji.id === undefined ? emoji.name : `:${emoji.name}:`,
      messageId,
      ...(removed && { removed: true }),
      ...(toBot && { toBot: true }),
    },
    receivedAt: now,
    ...(guildId !== undefined && { guildId }),
  };
}

/** A message without its content. */
type Envelope = Pick<InboundMessage, "id" | "eventKey" | "from" | "sender" | "receivedAt" | "sentAt" | "guildId">;

/** Types of Discord's notices: docs.discord.com/developers/resources/message#message-object-message-types */
const NOTICES: Readonly<Record<number, (message: Message) => ChatNews>> = {
  1: (message) => ({ kind: "joined", ...subjectOf(message) }),
  2: (message) => ({ kind: "left", ...subjectOf(message) }),
  4: ({ content }) => ({ kind: "renamed", subject: content }),
  6: ({ message_reference: pinned }) => ({ kind: "pinned", messageId: pinned?.message_id ?? "" }),
  7: () => ({ kind: "joined" }),
};

/** The person who was added or removed, unless that is the author. */
function subjectOf({ mentions: [person], author }: Message): Pick<ChatNews, "subject"> | undefined {
  return person === undefined || person.id === author.id ? undefined : { subject: nameOf(person) };
}

/** Whether a message is one of Discord's notices that an agent should know of. */
const isNotice = ({ type }: Message): boolean => type in NOTICES;

/** News in one of those notices. */
function readNotice(message: Message, envelope: Envelope): InboundMessage | undefined {
  const news = NOTICES[message.type]?.(message);
  return news && newsFrom(envelope, news);
}

/** A deletion, of a message that was read: only then its author is known. Throws when Discord does not answer. */
async function readDeletion(
  { id, channel_id: channel, guild_id: guildId }: GatewayMessageDeleteDispatchData,
  { bot, now }: EventContext,
): Promise<InboundMessage | undefined> {
  const sender = bot.known.authors.get(id);
  if (!sender) return undefined;
  const place = await bot.places.find({ id: channel, ...(guildId !== undefined && { guildId }) }, bot.api);
  const from = peerOf(place, bot.places, { account: bot.host.account, personId: sender.id });
  const envelope = { id, eventKey: `d${id}`, from, sender, receivedAt: now, ...(guildId !== undefined && { guildId }) };
  return newsFrom(envelope, { kind: "deleted", messageId: id });
}

const newsFrom = (envelope: Envelope, news: ChatNews): InboundMessage => ({
  ...envelope,
  text: "",
  media: [],
  mentionsBot: envelope.from.chat.kind === "direct",
  event: "news",
  news,
});
