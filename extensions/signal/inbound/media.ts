import { mediaKindOf } from "openclaw/plugin-sdk";
import type { MediaItem, MediaKind } from "openclaw/plugin-sdk";
import { addressOf } from "../people.ts";
import type { Person } from "../people.ts";
import type { Attachment, DataMessage, Quote } from "./schema.ts";

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

/**
 * The files of a quoted message, which the quote only names: as they came with the message if it is known, else the
 * small pictures of the quote. A file with neither cannot be fetched, but the model learns of it.
 */
export function quotedMediaOf(
  { attachments }: Quote,
  origin: Origin,
  known: readonly MediaItem[],
): readonly MediaItem[] {
  if (known.length > 0) return known;
  return (attachments ?? []).map(({ contentType, filename, thumbnail }) => ({
    kind: kindOf({ contentType, filename }),
    ...(contentType && { mime: contentType }),
    ...(filename && { name: filename }),
    source: { at: "platform", ref: thumbnail?.id ? query({ id: thumbnail.id, ...origin }) : NOWHERE },
  }));
}

function kindOf({
  contentType,
  filename,
  voiceNote,
}: Pick<Attachment, "contentType" | "filename" | "voiceNote">): MediaKind {
  // Older versions of signal-cli have no `voiceNote`. The apps record voice messages as AAC without a name.
  return mediaKindOf(contentType ?? "", voiceNote ?? (contentType === "audio/aac" && !filename));
}

const query = (fields: Record<string, string>): string => new URLSearchParams(fields).toString();

/** The reference to a file that signal-cli does not have. */
const NOWHERE = "";

/** The call of `getAttachment` or `getSticker` for a reference; undefined when signal-cli does not have the file. */
export function readFileRef(
  ref: string,
): { readonly method: string; readonly params: Record<string, unknown> } | undefined {
  if (ref === NOWHERE) return undefined;
  const { stickerId, ...fields } = Object.fromEntries(new URLSearchParams(ref));
  if (stickerId === undefined) return { method: "getAttachment", params: fields };
  return { method: "getSticker", params: { ...fields, stickerId: Number(stickerId) } };
}
