import type { WAContextInfo, WAMessage, WAMessageContent } from "@whiskeysockets/baileys";
import type { AccountId, InboundMessage, Peer, QuotedMessage, Sender } from "openclaw/plugin-sdk";
import { WHATSAPP } from "../config.ts";
import { contextOf, textOf, untrustedOf, unwrap } from "./content.ts";
import { bare, isGroup, isLid, isList, isNoChat, isOwnId, messageId, phoneOf, userOf } from "./jid.ts";
import { mediaOf } from "./media.ts";

/** The linked account. `lid` is its address in groups. */
export interface Self {
  readonly jid: string;
  readonly lid?: string;
  readonly name: string;
}

/** What the conversion of a message needs to know about this account and the people in it. */
export interface View {
  readonly account: AccountId;
  readonly self: Self;
  readonly now: number;
  readonly ownChat: boolean;
  /** Numbers of people by their bare LID. */
  readonly phones: ReadonlyMap<string, string>;
  /** Names of people by their number or bare LID. */
  readonly names: ReadonlyMap<string, string>;
  readonly title?: string | undefined;
}

/** The LIDs in a message. Only WhatsApp's directory may know their numbers. */
export function lidsIn(message: WAMessage): readonly string[] {
  const context = contextOf(unwrap(message.message));
  const jids = [message.key.remoteJid, message.key.participant, context?.participant, ...(context?.mentionedJid ?? [])];
  return [...new Set(jids.flatMap((jid) => (jid && isLid(jid) ? [bare(jid)] : [])))];
}

/** Converts a message; undefined when it has nothing for an agent or is our own. */
export function readMessage(message: WAMessage, view: View): InboundMessage | undefined {
  const { key } = message;
  if (!key.remoteJid || !key.id || isNoChat(key.remoteJid) || isOurs(message, view)) return undefined;
  const content = unwrap(message.message);
  if (content.reactionMessage) return reactionMessage(message, content.reactionMessage, view);
  const change = content.protocolMessage;
  if (!change) return written(message, content, view);
  if (!change.editedMessage || !change.key?.id) return undefined;
  const edited = written(message, unwrap(change.editedMessage), view);
  return edited && { ...edited, id: messageId(change.key.id, authorOf(message)), isEdit: true };
}

/** Our own message. A note that the owner of the number writes to itself does not count, if such notes are enabled. */
function isOurs({ key }: WAMessage, view: View): boolean {
  if (!key.fromMe) return false;
  const own = isSelf(key.remoteJid ?? "", view.self);
  return !(view.ownChat && own && !isOwnId(key.id ?? ""));
}

const isSelf = (jid: string, self: Self): boolean =>
  [self.jid, self.lid].some((own) => own !== undefined && bare(own) === bare(jid));

/** The author of a message in a group. */
const authorOf = ({ key }: WAMessage): string | undefined =>
  isGroup(key.remoteJid ?? "") ? (key.participant ?? undefined) : undefined;

function written(message: WAMessage, content: WAMessageContent, view: View): InboundMessage | undefined {
  const media = mediaOf(content);
  const untrusted = untrustedOf(content);
  const body = textOf(content);
  if (body === "" && media.length === 0 && untrusted.length === 0) return undefined;
  const context = contextOf(content);
  const quoted = quoteOf(message, context, view);
  return {
    ...frame(message, view),
    text: readable(body, context, view),
    media,
    mentionsBot: mentions(message, context, view) || quoted?.fromBot === true,
    ...(quoted && { replyTo: quoted }),
    ...(untrusted.length > 0 && { untrusted }),
  };
}

type Frame = Pick<InboundMessage, "id" | "eventKey" | "from" | "sender" | "receivedAt" | "sentAt">;

function frame(message: WAMessage, view: View): Frame {
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

function peerOf(message: WAMessage, view: View): Peer {
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

function senderOf(message: WAMessage, view: View): Sender {
  const { key } = message;
  const own = key.fromMe ? view.self.jid : undefined;
  const id = idOf(own ?? (key.participant || key.remoteJid || ""), view, key.participantAlt ?? key.remoteJidAlt);
  const name = message.verifiedBizName || message.pushName || view.names.get(id);
  return { id, ...(name && { name }), ...(id.startsWith("+") && { e164: id }) };
}

/** A person's number if known, else the address that WhatsApp uses instead. */
export function idOf(jid: string, view: Pick<View, "phones" | "self">, alt?: string | null): string {
  if (isSelf(jid, view.self)) return phoneOf(view.self.jid) ?? bare(jid);
  return phoneOf(jid) ?? (alt ? phoneOf(alt) : undefined) ?? view.phones.get(bare(jid)) ?? bare(jid);
}

function mentions(message: WAMessage, context: WAContextInfo | undefined, view: View): boolean {
  if (!isGroup(message.key.remoteJid ?? "")) return true;
  return (context?.mentionedJid ?? []).some((jid) => isSelf(jid, view.self));
}

/** Replaces the digits of mentioned numbers and LIDs by names. */
function readable(text: string, context: WAContextInfo | undefined, view: View): string {
  const named = context?.mentionedJid ?? [];
  return named.reduce((body, jid) => body.replaceAll(`@${userOf(jid)}`, () => `@${nameOf(jid, view)}`), text);
}

function quoteOf(message: WAMessage, context: WAContextInfo | undefined, view: View): QuotedMessage | undefined {
  if (!context?.stanzaId) return undefined;
  const author = context.participant ?? "";
  // In the chat of a number with itself, every message has the same author.
  const fromBot = isSelf(author, view.self) && (!message.key.fromMe || isOwnId(context.stanzaId));
  const isOthers = authorOf(message) !== undefined && !fromBot && author !== "";
  const text = textOf(unwrap(context.quotedMessage));
  return {
    id: messageId(context.stanzaId, isOthers ? author : undefined),
    ...(author !== "" && { sender: nameOf(author, view) }),
    ...(text !== "" && { text }),
    ...(fromBot && { fromBot }),
  };
}

function nameOf(jid: string, view: View): string {
  const id = idOf(jid, view);
  return isSelf(jid, view.self) ? view.self.name : (view.names.get(id) ?? id);
}

type Reaction = NonNullable<WAMessageContent["reactionMessage"]>;

function reactionMessage(message: WAMessage, { key: target, text }: Reaction, view: View): InboundMessage | undefined {
  if (!target?.id) return undefined;
  const toBot = target.fromMe === true;
  const author = isGroup(message.key.remoteJid ?? "") && !toBot ? (target.participant ?? undefined) : undefined;
  return {
    ...frame(message, view),
    text: "",
    media: [],
    mentionsBot: !isGroup(message.key.remoteJid ?? ""),
    event: "reaction",
    reaction: {
      emoji: text ?? "",
      messageId: messageId(target.id, author),
      ...(!text && { removed: true }),
      ...(toBot && { toBot }),
    },
  };
}
