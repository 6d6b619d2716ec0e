import type { Message } from "grammy/types";
import type { MediaItem, MediaKind } from "openclaw/plugin-sdk";

interface TelegramFile {
  readonly file_id: string;
  readonly file_size?: number;
  readonly mime_type?: string;
  readonly file_name?: string;
  readonly duration?: number;
}

/** The files of a message, which stay on the platform. An album is several messages of one file each. */
export function mediaOf(message: Message): readonly MediaItem[] {
  const { photo, sticker } = message;
  const largest = photo?.toSorted((a, b) => a.width * a.height - b.width * b.height).at(-1);
  if (largest) return [item("image", largest, "image/jpeg")];
  if (sticker) return [item("sticker", sticker, stickerMime(sticker))];
  // Telegram repeats an animation as a document.
  const video = message.animation ?? message.video ?? message.video_note;
  if (video) return [item("video", video, "video/mp4")];
  if (message.voice) return [item("voice", message.voice, "audio/ogg")];
  if (message.audio) return [item("audio", message.audio)];
  const document = message.document;
  return document ? [item(document.mime_type?.startsWith("image/") ? "image" : "document", document)] : [];
}

function item(kind: MediaKind, file: TelegramFile, defaultMime?: string): MediaItem {
  const mime = file.mime_type ?? defaultMime;
  return {
    kind,
    ...(mime !== undefined && { mime }),
    ...(file.file_name !== undefined && { name: file.file_name }),
    ...(file.file_size !== undefined && { bytes: file.file_size }),
    ...(file.duration !== undefined && { durationSeconds: file.duration }),
    source: { at: "platform", ref: file.file_id },
  };
}

function stickerMime(sticker: { is_animated: boolean; is_video: boolean }): string {
  if (sticker.is_animated) return "application/x-tgsticker";
  return sticker.is_video ? "video/webm" : "image/webp";
}
