import type { proto, WAContextInfo, WAMessageContent } from "@whiskeysockets/baileys";

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
] as const;
const DEEPEST = 6;

/** The message inside of the wrappers. */
export function unwrap(content: WAMessageContent | null | undefined): WAMessageContent {
  let inner = content ?? {};
  for (let depth = 0; depth < DEEPEST; depth++) {
    const layer = LAYERS.find((name) => inner[name]?.message);
    if (!layer) return inner;
    inner = inner[layer]?.message ?? {};
  }
  return inner;
}

/** The text that a person wrote or chose; empty for files without one. */
export function textOf(content: WAMessageContent): string {
  const written = content.conversation || content.extendedTextMessage?.text || captionOf(content);
  return written || chosenIn(content) || pollOf(content) || "";
}

const captionOf = ({ imageMessage, videoMessage, documentMessage }: WAMessageContent): string | null | undefined =>
  [imageMessage, videoMessage, documentMessage].find((file) => file?.caption)?.caption;

const chosenIn = (content: WAMessageContent): string | null | undefined =>
  (content.buttonsResponseMessage ?? content.templateButtonReplyMessage)?.selectedDisplayText ||
  content.listResponseMessage?.title ||
  content.interactiveResponseMessage?.body?.text;

function pollOf(content: WAMessageContent): string | undefined {
  const poll = content.pollCreationMessage ?? content.pollCreationMessageV2 ?? content.pollCreationMessageV3;
  if (!poll) return undefined;
  const options = (poll.options ?? []).map((option) => option.optionName ?? "");
  return `Poll: ${poll.name ?? ""} (${options.join(" / ")})`;
}

/** Parts that can mention people and answer a message. */
const WITH_CONTEXT = [
  "extendedTextMessage",
  "imageMessage",
  "videoMessage",
  "ptvMessage",
  "audioMessage",
  "documentMessage",
  "stickerMessage",
  "locationMessage",
  "liveLocationMessage",
  "contactMessage",
  "contactsArrayMessage",
  "buttonsResponseMessage",
  "templateButtonReplyMessage",
  "listResponseMessage",
  "interactiveResponseMessage",
  "pollCreationMessage",
  "pollCreationMessageV3",
] as const;

/** The mentions of a message and the message that it answers. */
export function contextOf(content: WAMessageContent): WAContextInfo | undefined {
  const part = WITH_CONTEXT.find((name) => content[name]?.contextInfo);
  return (part && content[part]?.contextInfo) ?? undefined;
}

/** Lines about content that is neither text nor a file: a forwarded message, a place, a contact, an event. */
export function untrustedOf(content: WAMessageContent): readonly string[] {
  const contacts = content.contactsArrayMessage?.contacts ?? [content.contactMessage];
  const lines = [
    contextOf(content)?.isForwarded ? "Forwarded" : undefined,
    placeOf(content),
    ...contacts.map((contact) => contact && contactLine(contact)),
    content.groupInviteMessage && `Invitation to the group: ${content.groupInviteMessage.groupName ?? ""}`,
    content.eventMessage && eventLine(content.eventMessage),
  ];
  return lines.filter((line) => typeof line === "string");
}

function placeOf({ locationMessage, liveLocationMessage }: WAMessageContent): string | undefined {
  if (liveLocationMessage) {
    return `Live location: ${liveLocationMessage.degreesLatitude}, ${liveLocationMessage.degreesLongitude}`;
  }
  if (!locationMessage) return undefined;
  const { name, address, degreesLatitude, degreesLongitude } = locationMessage;
  const point = `${degreesLatitude}, ${degreesLongitude}`;
  const label = [name, address].filter(Boolean).join(", ");
  return label === "" ? `Location: ${point}` : `Place: ${label} (${point})`;
}

function contactLine({ displayName, vcard }: proto.Message.IContactMessage): string {
  const numbers = [...(vcard ?? "").matchAll(/^(?:item\d+\.)?TEL[^:\n]*:(.+)$/gim)].map((match) => match[1]?.trim());
  return `Contact: ${[displayName, ...numbers].filter(Boolean).join(", ")}`;
}

function eventLine({ name, startTime }: proto.Message.IEventMessage): string {
  const at = startTime == null ? "" : `, ${new Date(Number(startTime) * 1000).toISOString()}`;
  return `Event: ${name ?? ""}${at}`;
}
