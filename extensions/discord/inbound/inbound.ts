import type { APIGuildMember, APIMessage, APIUser, GatewayMessageReactionAddDispatchData } from "discord-api-types/v10";
import type { InboundMessage, QuotedMessage, Sender } from "openclaw/plugin-sdk";
import type { Event } from "../gateway/connection.ts";
import { isRefused } from "../failures.ts";
import { readInteraction } from "./interactions.ts";
import { mediaOf } from "./media.ts";
import { peerOf } from "./places.ts";
import type { Place } from "./places.ts";
import { selfId } from "../room.ts";
import type { Room, View } from "../room.ts";
import { nameOf, readable, untrustedOf, userOf } from "./text.ts";
import type { Names } from "./text.ts";

/** A message with what only its event tells. */
export type ToldMessage = APIMessage & { readonly guild_id?: string; readonly member?: Partial<APIGuildMember> };
type ToldReaction = Pick<GatewayMessageReactionAddDispatchData, "user_id" | "channel_id" | "message_id" | "emoji"> &
  Partial<Pick<GatewayMessageReactionAddDispatchData, "guild_id" | "member" | "message_author_id">>;

/** Plain messages, replies, and what other bots answer to commands. Others are notices of Discord's. */
const WRITTEN = new Set([0, 19, 20, 23]);
const REPLY = 19;

/** The message that an event carries, or undefined when there is nothing in it for an agent. Throws when Discord cannot be asked. */
export async function readEvent({ payload, sequence }: Event, view: View): Promise<InboundMessage | undefined> {
  switch (payload.t) {
    case "MESSAGE_CREATE":
      return readMessage(payload.d, view);
    case "MESSAGE_UPDATE":
      return readEdit(payload.d, view);
    case "MESSAGE_REACTION_ADD":
      return readReaction(payload.d, { view, sequence, removed: false });
    case "MESSAGE_REACTION_REMOVE":
      return readReaction(payload.d, { view, sequence, removed: true });
    case "INTERACTION_CREATE":
      return readInteraction(payload.d, view);
    default:
      return undefined;
  }
}

/** Discord tells of previews that it has added to a message as well. */
async function readEdit(message: ToldMessage, view: View): Promise<InboundMessage | undefined> {
  if (message.edited_timestamp == null) return undefined;
  const edited = Date.parse(message.edited_timestamp);
  const read = await readMessage(message, view);
  return read && { ...read, eventKey: `${read.eventKey}:${edited}`, isEdit: true, sentAt: edited };
}

/** Throws when Discord cannot be asked. */
export async function readMessage(message: ToldMessage, view: View): Promise<InboundMessage | undefined> {
  const { room } = view;
  if (message.author.id === selfId(room)) return remember(message, room);
  if (!WRITTEN.has(message.type)) return undefined;
  const place = await room.places.find(message.channel_id, message.guild_id);
  const { isNamed, names } = await mentionsIn(message, place, room);
  const content = contentOf(message, { place, names, room });
  if (isEmpty(content) && !isNamed) return undefined;
  if (place.kind === "direct") await room.directs.remember(message.author.id, message.channel_id);
  const replyTo = await quoteOf(message, names, room);
  const threadStarter = await starterOf(place, message, room);
  return {
    ...envelopeOf(message, place, view),
    ...content,
    mentionsBot: place.kind === "direct" || isNamed || replyTo?.fromBot === true,
    ...(replyTo && { replyTo }),
    ...(threadStarter !== undefined && { threadStarter }),
  };
}

const isEmpty = ({ text, media, untrusted }: Pick<InboundMessage, "text" | "media" | "untrusted">): boolean =>
  text === "" && media.length === 0 && !untrusted;

type Envelope = Pick<InboundMessage, "id" | "eventKey" | "from" | "sender" | "receivedAt" | "sentAt" | "guildId">;

function envelopeOf(message: ToldMessage, place: Place, { room, now }: View): Envelope {
  const guildId = guildOf(message, place);
  return {
    id: message.id,
    eventKey: `m${message.id}`,
    from: peerOf(place, room.places, { account: room.host.account, personId: message.author.id }),
    sender: senderOf(message.author, message),
    receivedAt: now,
    sentAt: Date.parse(message.timestamp),
    ...(guildId !== undefined && { guildId }),
  };
}

const guildOf = (message: ToldMessage, place: Place): string | undefined => message.guild_id ?? place.guildId;

function contentOf(
  message: ToldMessage,
  { place, names, room }: { place: Place; names: Names; room: Room },
): Pick<InboundMessage, "text" | "media" | "untrusted"> {
  const untrusted = [...titleOf(place, message), ...untrustedOf(message)];
  return {
    text: readable(message.content, names),
    media: mediaOf(message, room.config.cdnUrl),
    ...(untrusted.length > 0 && { untrusted }),
  };
}

/** Our own message: proof that a send arrived. */
function remember(message: ToldMessage, room: Room): undefined {
  room.own.set(message.id, true);
  if (message.nonce !== undefined) room.nonces.set(String(message.nonce), message.id);
  return undefined;
}

const titleOf = (place: Place, message: ToldMessage): readonly string[] =>
  place.kind === "post" && place.id === message.id ? [`Forum post: ${place.name ?? ""}`] : [];

async function mentionsIn(
  message: ToldMessage,
  place: Place,
  room: Room,
): Promise<{ readonly isNamed: boolean; readonly names: Names }> {
  const id = selfId(room);
  const guildId = guildOf(message, place);
  const asksRoles = guildId !== undefined && message.mention_roles.length > 0;
  const guild = asksRoles ? await room.places.guild(guildId, id) : undefined;
  const isNamed =
    message.mentions.some((user) => user.id === id) || message.mention_roles.some((role) => guild?.own.includes(role));
  const { own: ownRoles = [], roles = new Map<string, string>() } = guild ?? {};
  return { isNamed, names: { users: message.mentions, roles, places: room.places, selfId: id, ownRoles } };
}

/** Webhooks write without being members. */
function senderOf(author: APIUser, message: ToldMessage): Sender {
  const { member, webhook_id: webhook } = message;
  const isBot = author.bot === true || webhook !== undefined;
  return { ...userOf(author, member), ...(isBot && { isBot: true }) };
}

async function quoteOf(message: ToldMessage, names: Names, room: Room): Promise<QuotedMessage | undefined> {
  const id = message.type === REPLY ? message.message_reference?.message_id : undefined;
  if (id === undefined) return undefined;
  // Null: it was deleted. Left out: Discord did not look.
  const original = message.referenced_message ?? (await lookUp(message, id, room));
  if (!original) return { id };
  return {
    id,
    sender: nameOf(original.author),
    text: readable(original.content, { ...names, users: [...names.users, ...original.mentions] }),
    ...(original.author.id === selfId(room) && { fromBot: true }),
  };
}

const lookUp = async (message: ToldMessage, id: string, room: Room): Promise<APIMessage | undefined> =>
  message.referenced_message === null ? undefined : askMessage(room, message.channel_id, id);

async function askMessage(room: Room, channel: string, id: string): Promise<APIMessage | undefined> {
  try {
    return await room.api.ask<APIMessage>("GET", `/channels/${channel}/messages/${id}`);
  } catch (error) {
    if (!isRefused(error)) throw error;
    return undefined;
  }
}

/** A thread has the id of the message that it was begun from, which lies in its channel; a post's own lies in itself. */
async function starterOf(place: Place, message: ToldMessage, room: Room): Promise<string | undefined> {
  if ((place.kind !== "thread" && place.kind !== "post") || message.id === place.id) return undefined;
  const known = room.starters.get(place.id);
  const starter = known ?? (await askStarter(place, room));
  room.starters.set(place.id, starter);
  return starter === "" ? undefined : starter;
}

async function askStarter(place: Place, room: Room): Promise<string> {
  const channel = place.kind === "post" ? place.id : place.parentId;
  const first = channel === undefined ? undefined : await askMessage(room, channel, place.id);
  if (!first) return "";
  const names = { users: first.mentions, roles: new Map<string, string>(), places: room.places, selfId: "" };
  const text = readable(first.content, names);
  return place.kind === "post" ? `${place.name ?? ""}\n${text}`.trim() : text;
}

async function readReaction(
  told: ToldReaction,
  { view, sequence, removed }: { view: View; sequence: number; removed: boolean },
): Promise<InboundMessage | undefined> {
  const { room, now, session } = view;
  const { user_id: person, message_id: messageId, guild_id: guildId, member, emoji } = told;
  if (person === selfId(room) || emoji.name === null) return undefined;
  const place = await room.places.find(told.channel_id, guildId);
  const toBot = told.message_author_id === selfId(room) || room.own.get(messageId) === true;
  return {
    id: messageId,
    // Discord gives reactions no id: one person may put and take away the same one many times.
    eventKey: `r${session}:${sequence}`,
    from: peerOf(place, room.places, { account: room.host.account, personId: person }),
    sender: member ? userOf(member.user, member) : { id: person },
    text: "",
    media: [],
    mentionsBot: place.kind === "direct",
    event: "reaction",
    reaction: {
      emoji: emoji.id === null ? emoji.name : `:${emoji.name}:`,
      messageId,
      ...(removed && { removed: true }),
      ...(toBot && { toBot: true }),
    },
    receivedAt: now,
    ...(guildId !== undefined && { guildId }),
  };
}
