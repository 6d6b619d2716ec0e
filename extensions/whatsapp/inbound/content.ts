import type { proto, WAContextInfo, WAMessageContent } from "@whiskeysockets/baileys";
import { cardOf, priceOf } from "./cards.ts";
import { mediaOf } from "./media.ts";

/** Wrappers around a message: disappearing, view-once, with a caption, edited, sent from another device. */
const LAYERS = [
  "ephemeralMessage",
  "viewOnceMessage",
  "viewOnceMessageV2",
  "viewOnceMessageV2Extension",
  "documentWithCaptionMessage",
  "editedMessage",
  "groupMentionedMessage",
  "lottieStickerMessage",
  "associatedChildMessage",
  "deviceSentMessage",
  "pollCreationMessageV4",
  "botInvokeMessage",
  "botForwardedMessage",
  "questionMessage",
  "questionReplyMessage",
  "commentMessage",
] as const;
const DEEPEST = 6;
/** The last time that a `Date` can have. */
const LATEST_MS = 8.64e15;

/** The message inside of the wrappers. */
export const unwrap = (content: WAMessageContent | null | undefined): WAMessageContent => opened(content).inner;

function opened(content: WAMessageContent | null | undefined): {
  readonly inner: WAMessageContent;
  readonly layers: readonly string[];
} {
  const layers: string[] = [];
  let inner = content ?? {};
  for (let depth = 0; depth < DEEPEST; depth++) {
    const layer = LAYERS.find((name) => inner[name]?.message);
    if (!layer) break;
    layers.push(layer);
    inner = inner[layer]?.message ?? {};
  }
  return { inner, layers };
}

/** The text that a person wrote or chose; empty for files without one. */
export function textOf(content: WAMessageContent): string {
  const written = content.conversation || content.extendedTextMessage?.text || captionOf(content);
  return written || chosenIn(content) || pollOf(content) || textOfCard(content);
}

function captionOf(content: WAMessageContent): string | null | undefined {
  const { imageMessage, videoMessage, documentMessage, liveLocationMessage, stickerPackMessage } = content;
  const parts = [imageMessage, videoMessage, documentMessage, liveLocationMessage, stickerPackMessage];
  return parts.find((part) => part?.caption)?.caption;
}

const chosenIn = (content: WAMessageContent): string | null | undefined =>
  (content.buttonsResponseMessage ?? content.templateButtonReplyMessage)?.selectedDisplayText ||
  content.listResponseMessage?.title ||
  content.interactiveResponseMessage?.body?.text;

function pollOf(content: WAMessageContent): string | undefined {
  const { pollCreationMessage, pollCreationMessageV2, pollCreationMessageV3, pollCreationMessageV5 } = content;
  const poll = pollCreationMessage ?? pollCreationMessageV2 ?? pollCreationMessageV3 ?? pollCreationMessageV5;
  if (!poll) return undefined;
  const options = (poll.options ?? []).map((option) => option.optionName ?? "");
  return `Poll: ${poll.name ?? ""} (${options.join(" / ")})`;
}

const textOfCard = (content: WAMessageContent): string => (cardOf(content)?.texts ?? []).filter(Boolean).join("\n");

/** The mentions of a message and the message that it answers. Every kind of message may have them. */
export function contextInfoOf(content: WAMessageContent): WAContextInfo | undefined {
  const parts: readonly unknown[] = Object.values(content);
  return parts.find(hasContext)?.contextInfo;
}

const hasContext = (part: unknown): part is { readonly contextInfo: WAContextInfo } =>
  isObject(part) && isObject(part["contextInfo"]);

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null;

/** Lines about content that is neither text nor a file: a place, a contact, an event. */
export function linesOf(content: WAMessageContent): readonly string[] {
  const contacts = content.contactsArrayMessage?.contacts ?? [content.contactMessage];
  const { groupInviteMessage: invitation, stickerPackMessage: stickers, scheduledCallCreationMessage: call } = content;
  const lines = [
    placeOf(content),
    ...contacts.map((contact) => contact && contactLine(contact)),
    invitation && `Invitation to the group: ${invitation.groupName ?? ""}`,
    content.eventMessage && eventLine(content.eventMessage),
    stickers && `Sticker pack: ${stickers.name ?? ""}`,
    call && `Planned call: ${[call.title, timeOf(Number(call.scheduledTimestampMs ?? 0))].filter(Boolean).join(", ")}`,
    paymentOf(content),
    previewOf(content),
  ];
  return lines.filter((line) => typeof line === "string");
}

function placeOf({ locationMessage, liveLocationMessage }: WAMessageContent): string | undefined {
  if (liveLocationMessage) {
    return `Live location: ${liveLocationMessage.degreesLatitude}, ${liveLocationMessage.degreesLongitude}`;
  }
  if (!locationMessage) return undefined;
  const label = labelOf(locationMessage);
  const point = `${locationMessage.degreesLatitude}, ${locationMessage.degreesLongitude}`;
  return label === "" ? `Location: ${point}` : `Place: ${label} (${point})`;
}

const labelOf = ({ name, address }: proto.Message.ILocationMessage): string =>
  [name, address].filter(Boolean).join(", ");

function contactLine({ displayName, vcard }: proto.Message.IContactMessage): string {
  const numbers = [...(vcard ?? "").matchAll(/^(?:item\d+\.)?TEL[^:\n]*:(.+)$/gim)].map((match) => match[1]?.trim());
  return `Contact: ${[displayName, ...numbers].filter(Boolean).join(", ")}`;
}

function eventLine(event: proto.Message.IEventMessage): string {
  const { name, description, location, joinLink, startTime, endTime, isCanceled } = event;
  const [from, to] = [startTime, endTime].map((time) => timeOf(Number(time ?? 0) * 1000));
  const parts = [name ?? "", from, to && `until ${to}`, location && labelOf(location), description, joinLink];
  return `${isCanceled ? "Cancelled event" : "Event"}: ${parts.filter((part, at) => at === 0 || part).join(", ")}`;
}

const timeOf = (ms: number): string | undefined => (ms > 0 && ms <= LATEST_MS ? new Date(ms).toISOString() : undefined);

function paymentOf({ requestPaymentMessage, sendPaymentMessage, invoiceMessage }: WAMessageContent) {
  if (invoiceMessage) return `Invoice: ${invoiceMessage.note ?? ""}`;
  const payment = requestPaymentMessage ?? sendPaymentMessage;
  if (!payment) return undefined;
  const asked = requestPaymentMessage ?? {};
  const parts = [priceOf(asked.amount1000, asked.currencyCodeIso4217), textOf(unwrap(payment.noteMessage))];
  return `Payment${requestPaymentMessage ? " request" : ""}: ${parts.filter(Boolean).join(", ") || "without a note"}`;
}

function previewOf({ extendedTextMessage }: WAMessageContent): string | undefined {
  const parts = [extendedTextMessage?.title, extendedTextMessage?.description].filter(Boolean);
  return parts.length === 0 ? undefined : `Link preview: ${parts.join(", ")}`;
}

/** Lines about how long a message may be seen. */
export function limitsOn(content: WAMessageContent | null | undefined): readonly string[] {
  const { inner, layers } = opened(content);
  const parts: readonly unknown[] = Object.values(inner);
  const isOnce = layers.some((name) => name.startsWith("viewOnce")) || parts.some(isViewedOnce);
  const seconds = contextInfoOf(inner)?.expiration;
  return [...(isOnce ? ["To be viewed once"] : []), ...(seconds ? [`Disappears after ${seconds} s`] : [])];
}

const isViewedOnce = (part: unknown): boolean => isObject(part) && part["viewOnce"] === true;

/** `ProtocolMessage.Type.EPHEMERAL_SETTING`. */
const TIMER = 3;

/**
 * The seconds after which messages of the chat disappear, as a message shows them; 0 when messages stay, undefined when
 * the message does not have the number.
 */
export function timerIn(content: WAMessageContent): number | undefined {
  const { protocolMessage: change, conversation } = content;
  if (change) return change.type === TIMER ? (change.ephemeralExpiration ?? 0) : undefined;
  const context = contextInfoOf(content);
  return context || conversation ? (context?.expiration ?? 0) : undefined;
}

/** `MessageAssociation.AssociationType`: the same picture or film in a better quality, or the film of a moving picture. */
const BETTER_COPIES = new Set<unknown>([5, 10, 12, 19]);

/** Whether the app sent this in addition to a message that has the same content. */
export const isBetterCopy = (content: WAMessageContent | null | undefined): boolean =>
  BETTER_COPIES.has(associationOf(content)?.associationType);

const MEDIA_ALBUM = 1;

/** The id of the message that announced the album that this file is a part of. */
export function albumIdIn(content: WAMessageContent | null | undefined): string | undefined {
  const { associationType, parentMessageKey } = associationOf(content) ?? {};
  return associationType === MEDIA_ALBUM ? (parentMessageKey?.id ?? undefined) : undefined;
}

function associationOf(content: WAMessageContent | null | undefined): proto.IMessageAssociation | null | undefined {
  const { inner } = opened(content);
  return (inner.messageContextInfo ?? content?.messageContextInfo)?.messageAssociation;
}

/** Parts of a message that have nothing for an agent: keys, votes, signs of the apps, and what stories and calls leave in a chat. */
const SILENT = new Set([
  "messageContextInfo",
  "senderKeyDistributionMessage",
  "fastRatchetKeySenderKeyDistributionMessage",
  "protocolMessage",
  "reactionMessage",
  "encReactionMessage",
  "encEventResponseMessage",
  "encCommentMessage",
  "secretEncryptedMessage",
  "pollUpdateMessage",
  "pinInChatMessage",
  "keepInChatMessage",
  "albumMessage",
  "eventCoverImage",
  "pollCreationOptionImageMessage",
  "placeholderMessage",
  "stickerSyncRmrMessage",
  "messageHistoryBundle",
  "messageHistoryNotice",
  "limitSharingMessage",
  "requestPhoneNumberMessage",
  "chat",
  "call",
  "callLogMesssage",
  "bcallMessage",
  "scheduledCallEditMessage",
  "statusMentionMessage",
  "groupStatusMentionMessage",
  "groupStatusMessage",
  "groupStatusMessageV2",
  "statusAddYours",
  "statusNotificationMessage",
  "statusQuestionAnswerMessage",
  "statusQuotedMessage",
  "statusStickerInteractionMessage",
]);

/**
 * The kind of a message without readable content, in words; undefined for other messages, and for messages without any
 * content.
 */
export function unsupportedIn(content: WAMessageContent): string | undefined {
  if (textOf(content) !== "" || mediaOf(content).length > 0 || linesOf(content).length > 0) return undefined;
  const parts: readonly (readonly [string, unknown])[] = Object.entries(content);
  const [name] = parts.find(([part, value]) => isObject(value) && !SILENT.has(part)) ?? [];
  return name?.replace(/Message(V\d+)?(Extension)?$/, "").replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}
