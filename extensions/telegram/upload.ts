import { InputFile } from "grammy";
import type { ChannelHost, MediaItem, OutboundPart, SendResult } from "openclaw/plugin-sdk";
import type { Bot } from "./api.ts";
import type { TelegramConfig } from "./config.ts";
import { deliver, sendText } from "./send.ts";
import type { Envelope } from "./send.ts";

type MediaPart = Extract<OutboundPart, { kind: "media" }>;
type Method = "sendPhoto" | "sendVoice" | "sendAudio" | "sendVideo" | "sendDocument";

/** UTF-16 units of text below a file. */
const CAPTION_LIMIT = 1024;

const METHODS: Readonly<Record<MediaItem["kind"], Method>> = {
  image: "sendPhoto",
  sticker: "sendDocument",
  voice: "sendVoice",
  audio: "sendAudio",
  video: "sendVideo",
  document: "sendDocument",
};

export interface Uploader {
  readonly bot: Bot;
  readonly config: TelegramConfig;
  readonly host: ChannelHost;
}

/** Sends a file; one that Telegram does not take as a photo or a voice note goes as a plain file. Never rejects. */
export async function sendFile(uploader: Uploader, to: Envelope, part: MediaPart): Promise<SendResult> {
  const long = part.caption !== undefined && part.caption.length > CAPTION_LIMIT ? part.caption : undefined;
  if (long === undefined) return sendAs(methodOf(part), uploader, to, part);
  const text = await sendText(uploader.bot, uploader.config, to, {
    kind: "text",
    body: long,
    format: "plain",
    plain: long,
  });
  if (text.kind !== "sent") return text;
  const { caption: _told, ...bare } = part;
  return sendAs(methodOf(part), uploader, to, bare);
}

const methodOf = (part: MediaPart): Method => (part.asVoice ? "sendVoice" : METHODS[part.media.kind]);

async function sendAs(method: Method, uploader: Uploader, to: Envelope, part: MediaPart): Promise<SendResult> {
  const opened = await open(uploader, part.media);
  if (opened.kind === "refused") return opened;
  const caption = part.caption === undefined ? {} : { caption: part.caption };
  const result = await deliver(to, (at) => call(uploader.bot, method, { ...at, ...caption }, opened.file()));
  if (result.kind !== "refused" || method === "sendDocument") return result;
  if (!/photo|image|voice|audio|video|wrong file|PHOTO_|VOICE_/i.test(result.reason)) return result;
  return sendAs("sendDocument", uploader, to, part);
}

type Opened = { readonly kind: "open"; file(): InputFile | string } | Extract<SendResult, { kind: "refused" }>;

/** A file can be read once, so that each try gets its own. */
async function open(uploader: Uploader, item: MediaItem): Promise<Opened> {
  if (item.source.at === "platform") {
    const { ref } = item.source;
    return { kind: "open", file: () => ref };
  }
  try {
    const bytes = await uploader.host.openMedia(item);
    return { kind: "open", file: () => new InputFile(bytes, item.name ?? defaultName(item)) };
  } catch (error) {
    return {
      kind: "refused",
      reason: `the file cannot be read: ${error instanceof Error ? error.message : String(error)}`,
    };
  }
}

const ENDINGS: Readonly<Record<string, string>> = {
  "image/jpeg": "jpg",
  "image/png": "png",
  "image/webp": "webp",
  "image/gif": "gif",
  "audio/ogg": "ogg",
  "audio/mpeg": "mp3",
  "video/mp4": "mp4",
  "application/pdf": "pdf",
  "text/plain": "txt",
};
const defaultName = (item: MediaItem): string => `${item.kind}.${ENDINGS[item.mime ?? ""] ?? "bin"}`;

async function call(
  bot: Bot,
  method: Method,
  body: Envelope & { caption?: string },
  file: InputFile | string,
): Promise<{ message_id: number }> {
  switch (method) {
    case "sendPhoto":
      return bot.calls.sendPhoto({ ...body, photo: file });
    case "sendVoice":
      return bot.calls.sendVoice({ ...body, voice: file });
    case "sendAudio":
      return bot.calls.sendAudio({ ...body, audio: file });
    case "sendVideo":
      return bot.calls.sendVideo({ ...body, video: file });
    case "sendDocument":
      return bot.calls.sendDocument({ ...body, document: file });
  }
}
