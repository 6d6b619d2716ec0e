import { mediaKindOf } from "openclaw/plugin-sdk";
import type { MediaItem, MediaKind } from "openclaw/plugin-sdk";
import { addressOf } from "../people.ts";
import type { Person } from "../people.ts";
import type { Attachment, DataMessage } from "./schema.ts";

/** Signal's apps send a text of more than 2 KiB as a file of this type; the message has the beginning. */
const LONG_TEXT = "text/x-signal-plain";

/** The chat of an attachment, which signal-cli requires. */
type Origin = { readonly groupId: string } | { readonly recipient: string };

export const originOf = (author: Person, { groupInfo }: DataMessage): Origin =>
  groupInfo ? { groupId: groupInfo.groupId } : { recipient: addressOf(author) ?? "" };

/** The files of a message, which stay with signal-cli. */
export function mediaOf(message: DataMessage, origin: Origin): readonly MediaItem[] {
  const files = (message.attachments ?? []).filter(isFile).map((attachment) => item(attachment, origin));
  const { sticker } = message;
  if (!sticker) return files;
  const ref = query({ packId: sticker.packId, stickerId: String(sticker.stickerId) });
  return [...files, { kind: "sticker", mime: "image/webp", source: { at: "platform", ref } }];
}

type Loaded = Attachment & { id: string };
const hasId = (attachment: Attachment): attachment is Loaded => typeof attachment.id === "string";
const isFile = (attachment: Attachment): attachment is Loaded =>
  hasId(attachment) && attachment.contentType !== LONG_TEXT;

/** The file with the whole text of a long message. */
export const longTextOf = (message: DataMessage, origin: Origin): MediaItem | undefined =>
  (message.attachments ?? [])
    .filter(hasId)
    .filter(({ contentType }) => contentType === LONG_TEXT)
    .map((attachment) => item(attachment, origin))[0];

function item(attachment: Loaded, origin: Origin): MediaItem {
  const { contentType, filename, size } = attachment;
  return {
    kind: kindOf(attachment),
    ...(contentType && { mime: contentType }),
    ...(filename && { name: filename }),
    ...(typeof size === "number" && { bytes: size }),
    source: { at: "platform", ref: query({ id: attachment.id, ...origin }) },
  };
}

function kindOf({ contentType, filename, voiceNote }: Attachment): MediaKind {
  // Older versions of signal-cli have no `voiceNote`. The apps record voice messages as AAC without a name.
  return mediaKindOf(contentType ?? "", voiceNote ?? (contentType === "audio/aac" && !filename));
}

const query = (fields: Record<string, string>): string => new URLSearchParams(fields).toString();

/** The call of `getAttachment` or `getSticker` for a reference. */
export function readFileRef(ref: string): { readonly method: string; readonly params: Record<string, unknown> } {
  const { stickerId, ...fields } = Object.fromEntries(new URLSearchParams(ref));
  if (stickerId === undefined) return { method: "getAttachment", params: fields };
  return { method: "getSticker", params: { ...fields, stickerId: Number(stickerId) } };
}
