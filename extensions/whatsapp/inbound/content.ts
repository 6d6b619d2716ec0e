import type { proto, WAContextInfo, WAMessageContent } from "@whiskeysockets/baileys";

/** Layers around a message: disappearing, to be seen once, with a caption, changed, sent from another device. */
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

/** What the layers hold. */
export function unwrap(content: WAMessageContent | null | undefined): WAMessageContent {
  let inner = content ?? {};
  for (let depth = 0; depth < DEEPEST; depth++) {
    const layer = LAYERS.find((name) => inner[name]?.message);
    if (!layer) return inner;
    inner = inner[layer]?.message ?? {};
  }
  return inner;
}

/** What somebody wrote or chose; empty for bare files. */
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

/** Parts that can name people and answer a message. */
const SPEAKING = [
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

/** Whom it names and what it answers. */
export function contextOf(content: WAMessageContent): WAContextInfo | undefined {
  const part = SPEAKING.find((name) => content[name]?.contextInfo);
  return (part && content[part]?.contextInfo) ?? undefined;
}

/** Lines about what is neither text nor a file: a forwarded message, a place, a person, an appointment. */
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
  const spot = `${degreesLatitude}, ${degreesLongitude}`;
  const label = [name, address].filter(Boolean).join(", ");
  return label === "" ? `Location: ${spot}` : `Place: ${label} (${spot})`;
}

function contactLine({ displayName, vcard }: proto.Message.IContactMessage): string {
  const numbers = [...(vcard ?? "").matchAll(/^(?:item\d+\.)?TEL[^:\n]*:(.+)$/gim)].map((match) => match[1]?.trim());
  return `Contact: ${[displayName, ...numbers].filter(Boolean).join(", ")}`;
}

function eventLine({ name, startTime }: proto.Message.IEventMessage): string {
  const at = startTime == null ? "" : `, ${new Date(Number(startTime) * 1000).toISOString()}`;
  return `Event: ${name ?? ""}${at}`;
}
