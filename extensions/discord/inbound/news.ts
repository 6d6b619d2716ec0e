import type { GatewayMessageDeleteDispatchData } from "discord-api-types/v10";
import type { ChatNews, InboundMessage } from "openclaw/plugin-sdk";
import type { EventContext } from "../bot.ts";
import type { Message } from "./message-shape.ts";
import { peerOf } from "./places.ts";
import { nameOf } from "./text.ts";

/** A message without its content. */
export type Envelope = Pick<
  InboundMessage,
  "id" | "eventKey" | "from" | "sender" | "receivedAt" | "sentAt" | "guildId"
>;

/** Types of Discord's notices: docs.discord.com/developers/resources/message#message-object-message-types */
const NOTICES: Readonly<Record<number, (message: Message) => ChatNews>> = {
  1: (message) => ({ kind: "joined", ...subjectOf(message) }),
  2: (message) => ({ kind: "left", ...subjectOf(message) }),
  4: ({ content }) => ({ kind: "renamed", subject: content }),
  6: ({ message_reference: pinned }) => ({ kind: "pinned", messageId: pinned?.message_id ?? "" }),
  7: () => ({ kind: "joined" }),
};

/** Whoever was added or removed, unless that is the author. */
function subjectOf({ mentions: [person], author }: Message): Pick<ChatNews, "subject"> | undefined {
  return person === undefined || person.id === author.id ? undefined : { subject: nameOf(person) };
}

/** Whether it is one of Discord's notices that an agent should know of. */
export const isNotice = ({ type }: Message): boolean => type in NOTICES;

/** What one of those notices tells of. */
export function readNotice(message: Message, envelope: Envelope): InboundMessage | undefined {
  const news = NOTICES[message.type]?.(message);
  return news && newsFrom(envelope, news);
}

/** A deletion, of a message that was read: only then its author is known. Throws when Discord does not answer. */
export async function readDeletion(
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
