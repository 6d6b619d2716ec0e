import type { MediaItem, OutboundFiles, SendResult } from "openclaw/plugin-sdk";
import type { TelegramConfig } from "../config.ts";

/** The calls that send a file. */
export type FileMethod =
  | "sendPhoto"
  | "sendVoice"
  | "sendAudio"
  | "sendVideo"
  | "sendAnimation"
  | "sendSticker"
  | "sendDocument";

const MB = 1_048_576;
/** core.telegram.org/bots/api#sending-files and #using-a-local-bot-api-server */
const PHOTO_BYTES = 10 * MB;
const PUBLIC_BYTES = 50 * MB;
const LOCAL_BYTES = 2000 * MB;
/** UTF-16 units of text below a file, after entities parsing (#sendphoto). */
export const CAPTION_UNITS = 1024;
const PUBLIC_ROOT = "https://api.telegram.org";

const METHODS: Readonly<Record<MediaItem["kind"], FileMethod>> = {
  image: "sendPhoto",
  sticker: "sendSticker",
  voice: "sendVoice",
  audio: "sendAudio",
  video: "sendVideo",
  document: "sendDocument",
};

const STICKERS = new Set(["image/webp", "video/webm", "application/x-tgsticker", undefined]);

/** The call that sends a file of this size: the call for its kind, if Telegram accepts the file as that. */
export function methodOf({ media, asVoice }: Pick<OutboundFiles, "media" | "asVoice">, bytes: number): FileMethod {
  if (asVoice) return "sendVoice";
  if (media.mime === "image/gif" && media.kind !== "document") return "sendAnimation";
  if (media.kind === "image" && (bytes > PHOTO_BYTES || media.mime === "image/svg+xml")) return "sendDocument";
  if (media.kind === "sticker" && !STICKERS.has(media.mime)) return "sendPhoto";
  return METHODS[media.kind];
}

/** The kind of album that may contain the file (#sendmediagroup); undefined for a file that is sent alone. */
export function sortOf(media: MediaItem): "visual" | "audio" | "file" | undefined {
  const method = methodOf({ media }, media.bytes ?? 0);
  return SORTS[method];
}

const SORTS: Readonly<Partial<Record<FileMethod, "visual" | "audio" | "file">>> = {
  sendPhoto: "visual",
  sendVideo: "visual",
  sendAudio: "audio",
  sendDocument: "file",
};

/** Telegram refuses a file as this kind; it may accept it as a plain file. */
export const isWrongKind = (result: SendResult): boolean =>
  result.kind === "refused" &&
  /photo|image|voice|audio|video|sticker|animation|wrong file|PHOTO_|VOICE_/i.test(result.reason);

/** Maximum bytes of one file that the server accepts. */
export const maxFileBytes = ({ apiRoot }: Pick<TelegramConfig, "apiRoot">): number =>
  apiRoot === PUBLIC_ROOT ? PUBLIC_BYTES : LOCAL_BYTES;

/** Adds the limit to a refusal because of size. */
export function sizeRefusal<T extends Extract<SendResult, { kind: "refused" }>>(refusal: T, config: TelegramConfig): T {
  if (!/too large|too big/i.test(refusal.reason)) return refusal;
  return { ...refusal, reason: `${refusal.reason}: a bot may send ${maxFileBytes(config) / MB} MB` };
}
