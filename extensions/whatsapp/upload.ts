import type { AnyMessageContent } from "@whiskeysockets/baileys";
import { fileNameOf } from "openclaw/plugin-sdk";
import type { ChannelHost, OutboundFiles, SendResult } from "openclaw/plugin-sdk";

/** A file as a message. `isBare`: it cannot have a caption. */
export type FileContent =
  | { readonly kind: "file"; readonly content: AnyMessageContent; readonly isBare: boolean }
  | Extract<SendResult, { kind: "refused" }>;

/** The text below a file. */
export interface Caption {
  readonly caption?: string;
  readonly mentions?: string[];
}

/** Reads a file from the store. Never rejects. */
export async function fileContent(host: ChannelHost, part: OutboundFiles, caption: Caption): Promise<FileContent> {
  try {
    const bytes = await host.openMedia(part.media);
    return { kind: "file", ...contentOf(part, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), caption) };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return { kind: "refused", reason: `${part.media.name ?? "the file"} cannot be read: ${reason}` };
  }
}

function contentOf(
  part: OutboundFiles,
  bytes: Buffer,
  caption: Caption,
): { content: AnyMessageContent; isBare: boolean } {
  const mimetype = part.media.mime ?? "application/octet-stream";
  if (isSound(part)) return { content: sound(part, bytes), isBare: true };
  if (isSticker(part)) return { content: { sticker: bytes, mimetype }, isBare: true };
  return { content: { ...pictureOrFile(part, bytes), ...caption }, isBare: false };
}

const isSound = ({ media, asVoice }: OutboundFiles): boolean =>
  (asVoice === true || media.kind === "audio" || media.kind === "voice") && media.mime?.startsWith("audio/") === true;

const isSticker = ({ media }: OutboundFiles): boolean => media.kind === "sticker" && media.mime === "image/webp";

/** WhatsApp only plays voice messages in Opus. */
function sound({ media, asVoice }: OutboundFiles, audio: Buffer): AnyMessageContent {
  const isOpus = /ogg|opus/.test(media.mime ?? "");
  const ptt = isOpus && (asVoice === true || media.kind === "voice");
  const seconds = media.durationSeconds === undefined ? {} : { seconds: Math.round(media.durationSeconds) };
  return { audio, ptt, mimetype: isOpus ? "audio/ogg; codecs=opus" : (media.mime ?? "audio/mpeg"), ...seconds };
}

const PICTURES = new Set(["image/jpeg", "image/png"]);
const FILMS = new Set(["video/mp4", "video/3gpp"]);

function pictureOrFile({ media }: OutboundFiles, bytes: Buffer): AnyMessageContent {
  const mimetype = media.mime ?? "application/octet-stream";
  if (PICTURES.has(mimetype)) return { image: bytes, mimetype };
  if (FILMS.has(mimetype)) return { video: bytes, mimetype };
  return { document: bytes, mimetype, fileName: fileNameOf(media) };
}
