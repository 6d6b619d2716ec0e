import type { WAContextInfo, WAMessage, WAMessageContent } from "@whiskeysockets/baileys";
import {
  openingMentionEnd,
  type InboundMessage,
  type Peer,
  type QuotedMessage,
  type Sender,
} from "openclaw/plugin-sdk";
import { WHATSAPP } from "../config.ts";
import type { AlbumNews } from "./albums.ts";
import { albumIdIn, contextInfoOf, isBetterCopy, limitsOn, linesOf, textOf, unsupportedIn, unwrap } from "./content.ts";
import { bare, isGroup, isLid, isList, isNoChat, isOwnId, messageId, userOf } from "../jid.ts";
import { mediaOf } from "./media.ts";
import { newsOf } from "./news.ts";
import { idOf, isSelf, nameOf } from "../view.ts";
import type { MessageView } from "../view.ts";

/** The LIDs in a message. Only WhatsApp's directory may know their numbers. */
export function lidsIn(message: WAMessage): readonly string[] {
  const context = contextInfoOf(unwrap(message.message));
  const jids = [message.key.remoteJid, message.key.participant, context?.participant, ...(context?.mentionedJid ?? [])];
  return [...new Set(jids.flatMap((jid) => (jid && isLid(jid) ? [bare(jid)] : [])))];
}

/** Converts a message; undefined when it has nothing for an agent or is our own. */
export function readMessage(message: WAMessage, view: MessageView): InboundMessage | undefined {
  const { key } = message;
  if (!key.remoteJid || !key.id || isNoChat(key.remoteJid) || isOurs(message, view)) return undefined;
  if (isBetterCopy(message.message)) return undefined;
  const content = unwrap(message.message);
  if (content.reactionMessage) return reactionMessage(message, content.reactionMessage, view);
  const news = newsOf(message, content, view);
  if (news)
    return { ...frame(message, view), text: "", media: [], mentionsBot: isDirect(message), event: "news", news };
  const change = content.protocolMessage;
  if (!change) return written(message, content, view);
  if (!change.editedMessage || !change.key?.id) return undefined;
  const edited = written(message, unwrap(change.editedMessage), view);
  return edited && { ...edited, id: messageId(change.key.id, authorOf(message)), isEdit: true };
}

/** The album that a message announces or is a part of. */
export function albumOf(message: WAMessage, view: MessageView): AlbumNews | undefined {
  if (isOurs(message, view)) return undefined;
  const { albumMessage } = unwrap(message.message);
  const id = albumMessage ? message.key.id : albumIdIn(message.message);
  if (!id) return undefined;
  const expected = (albumMessage?.expectedImageCount ?? 0) + (albumMessage?.expectedVideoCount ?? 0);
  const key = [peerOf(message, view).chat.id, senderOf(message, view).id, id].join("\n");
  return { key, ...(expected > 0 && { expected }) };
}

/** Our own message. A note that the owner of the number writes to itself does not count, if such notes are enabled. */
function isOurs({ key }: WAMessage, view: MessageView): boolean {
  if (!key.fromMe) return false;
  const own = isSelf(key.remoteJid ?? "", view.self);
  return !(view.ownChat && own && !isOwnId(key.id ?? ""));
}

/** The author of a message in a group. */
const authorOf = ({ key }: WAMessage): string | undefined =>
  isGroup(key.remoteJid ?? "") ? (key.participant ?? undefined) : undefined;

function written(message: WAMessage, content: WAMessageContent, view: MessageView): InboundMessage | undefined {
  const media = mediaOf(content);
  const lines = linesOrKind(content);
  const body = textOf(content);
  if (body === "" && media.length === 0 && lines.length === 0) return undefined;
  const context = contextInfoOf(content);
  const quoted = quoteOf(message, context, view);
  const untrusted = [...(context?.isForwarded ? ["Forwarded"] : []), ...lines, ...limitsOn(message.message)];
  return {
    ...frame(message, view),
    text: readable(body, context, view),
    media,
    mentionsBot: mentions(message, context, view) || quoted?.fromBot === true,
    ...(quoted && { replyTo: quoted }),
    ...(context?.isForwarded && { context: { isForwarded: true } }),
    ...(untrusted.length > 0 && { untrusted }),
  };
}

/** A message of which nothing can be read is at least named. */
function linesOrKind(content: WAMessageContent): readonly string[] {
  const kind = unsupportedIn(content);
  return kind === undefined ? linesOf(content) : [`Unsupported message: ${kind}`];
}

const isDirect = ({ key }: WAMessage): boolean => !isGroup(key.remoteJid ?? "");

type Frame = Pick<InboundMessage, "id" | "eventKey" | "from" | "sender" | "receivedAt" | "sentAt">;

function frame(message: WAMessage, view: MessageView): Frame {
  const { key, messageTimestamp } = message;
  const id = key.id ?? "";
  const chat = key.remoteJid ?? "";
  return {
    id: messageId(id, authorOf(message)),
    eventKey: isGroup(chat) ? `${chat}/${id}` : id,
    from: peerOf(message, view),
    sender: senderOf(message, view),
    receivedAt: view.now,
    ...(messageTimestamp != null && { sentAt: Number(messageTimestamp) * 1000 }),
  };
}

/** Where a message was written. */
export function peerOf(message: WAMessage, view: MessageView): Peer {
  const { key } = message;
  const chat = key.remoteJid ?? "";
  const where = { channel: WHATSAPP, account: view.account };
  if (isGroup(chat)) {
    return { ...where, chat: { kind: "group", id: chat, ...(view.title !== undefined && { title: view.title }) } };
  }
  const person = isList(chat) ? key.participant || chat : chat;
  const alt = isList(chat) ? key.participantAlt : key.remoteJidAlt;
  return { ...where, chat: { kind: "direct", id: idOf(person, view, alt) } };
}

function senderOf(message: WAMessage, view: MessageView): Sender {
  const { key } = message;
  const own = key.fromMe ? view.self.jid : undefined;
  const id = idOf(own ?? (key.participant || key.remoteJid || ""), view, key.participantAlt ?? key.remoteJidAlt);
  const name = message.verifiedBizName || message.pushName || view.names.get(id);
  return { id, ...(name && { name }), ...(id.startsWith("+") && { e164: id }) };
}

function mentions(message: WAMessage, context: WAContextInfo | undefined, view: MessageView): boolean {
  if (!isGroup(message.key.remoteJid ?? "")) return true;
  return (context?.mentionedJid ?? []).some((jid) => isSelf(jid, view.self));
}

/** Replaces the digits of mentioned numbers and LIDs by names. Our own at the start are left out. */
function readable(text: string, context: WAContextInfo | undefined, view: MessageView): string {
  const named = context?.mentionedJid ?? [];
  const ours = named.filter((jid) => isSelf(jid, view.self)).map((jid) => `@${userOf(jid)}`);
  const begin = openingMentionEnd(text, (at) => ours.find((own) => text.startsWith(own, at))?.length ?? 0);
  return named.reduce(
    (body, jid) => body.replaceAll(`@${userOf(jid)}`, () => `@${nameOf(jid, view)}`),
    text.slice(begin),
  );
}

function quoteOf(message: WAMessage, context: WAContextInfo | undefined, view: MessageView): QuotedMessage | undefined {
  if (!context?.stanzaId) return undefined;
  const author = context.participant ?? "";
  // In the chat of a number with itself, every message has the same author.
  const fromBot = isSelf(author, view.self) && (!message.key.fromMe || isOwnId(context.stanzaId));
  const isOthers = authorOf(message) !== undefined && !fromBot && author !== "";
  const content = unwrap(context.quotedMessage);
  const text = textOf(content) || linesOrKind(content).join("\n");
  const media = mediaOf(content);
  return {
    id: messageId(context.stanzaId, isOthers ? author : undefined),
    ...(author !== "" && { sender: nameOf(author, view) }),
    ...(text !== "" && { text }),
    ...(media.length > 0 && { media }),
    ...(fromBot && { fromBot }),
  };
}

type Reaction = NonNullable<WAMessageContent["reactionMessage"]>;

function reactionMessage(
  message: WAMessage,
  { key: target, text }: Reaction,
  view: MessageView,
): InboundMessage | undefined {
  if (!target?.id) return undefined;
  const toBot = target.fromMe === true;
  const author = isGroup(message.key.remoteJid ?? "") && !toBot ? (target.participant ?? undefined) : undefined;
  return {
    ...frame(message, view),
    text: "",
    media: [],
    mentionsBot: isDirect(message),
    event: "reaction",
    reaction: {
      emoji: text ?? "",
      messageId: messageId(target.id, author),
      ...(!text && { removed: true }),
      ...(toBot && { toBot }),
    },
  };
}
