import type { AnyMessageContent } from "@whiskeysockets/baileys";
import type { ChannelHost, OutboundPart, SendResult } from "openclaw/plugin-sdk";

type MediaPart = Extract<OutboundPart, { kind: "media" }>;

/** Characters below a file (Cloud API reference, media objects: `caption`). */
const CAPTION_LIMIT = 1024;

/** A file as a message; `words` are said before it. */
export type FileContent =
  | { readonly kind: "file"; readonly content: AnyMessageContent; readonly words?: string }
  | Extract<SendResult, { kind: "refused" }>;

/** Reads a file from the store. Never rejects. */
export async function fileContent(host: ChannelHost, part: MediaPart): Promise<FileContent> {
  try {
    const bytes = await host.openMedia(part.media);
    return { kind: "file", ...dress(part, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)) };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return { kind: "refused", reason: `the file cannot be read: ${reason}` };
  }
}

function dress(part: MediaPart, bytes: Buffer): { content: AnyMessageContent; words?: string } {
  const { caption } = part;
  const fits = caption === undefined || caption.length <= CAPTION_LIMIT;
  const below = caption !== undefined && fits ? { caption } : {};
  const before = caption === undefined ? {} : { words: caption };
  const mimetype = part.media.mime ?? "application/octet-stream";
  if (isSound(part)) return { content: sound(part, bytes), ...before };
  if (isSticker(part)) return { content: { sticker: bytes, mimetype }, ...before };
  return { content: { ...pictureOrFile(part, bytes), ...below }, ...(fits ? {} : before) };
}

const isSound = ({ media, asVoice }: MediaPart): boolean =>
  (asVoice === true || media.kind === "audio" || media.kind === "voice") && media.mime?.startsWith("audio/") === true;

const isSticker = ({ media }: MediaPart): boolean => media.kind === "sticker" && media.mime === "image/webp";

/** WhatsApp plays voice notes only in Opus. */
function sound({ media, asVoice }: MediaPart, audio: Buffer): AnyMessageContent {
  const isOpus = /ogg|opus/.test(media.mime ?? "");
  const ptt = isOpus && (asVoice === true || media.kind === "voice");
  const seconds = media.durationSeconds === undefined ? {} : { seconds: Math.round(media.durationSeconds) };
  return { audio, ptt, mimetype: isOpus ? "audio/ogg; codecs=opus" : (media.mime ?? "audio/mpeg"), ...seconds };
}

const PICTURES = new Set(["image/jpeg", "image/png"]);
const FILMS = new Set(["video/mp4", "video/3gpp"]);

function pictureOrFile({ media }: MediaPart, bytes: Buffer): AnyMessageContent {
  const mimetype = media.mime ?? "application/octet-stream";
  if (PICTURES.has(mimetype)) return { image: bytes, mimetype };
  if (FILMS.has(mimetype)) return { video: bytes, mimetype };
  return { document: bytes, mimetype, fileName: media.name ?? media.kind };
}
