import { createDecipheriv, createHmac, hkdfSync, timingSafeEqual } from "node:crypto";
import type { WAMessageContent } from "@whiskeysockets/baileys";
import { mediaTooLarge, mediaUnavailable } from "openclaw/plugin-sdk";
import type { ChannelHost, FetchedFile, MediaItem, MediaKind } from "openclaw/plugin-sdk";
import { z } from "zod";
import type { WhatsAppConfig } from "../config.ts";
import { cardOf } from "./cards.ts";

interface WhatsAppFile {
  readonly mediaKey?: Uint8Array | null;
  readonly directPath?: string | null;
  readonly mimetype?: string | null;
  readonly fileLength?: unknown;
  readonly fileName?: string | null;
  readonly seconds?: number | null;
}

/** The kind of a file on WhatsApp, which is part of the derivation of its key. */
type Info = "Image" | "Video" | "Audio" | "Document";

/** The data for a download, also after a restart. */
const refShape = z.object({
  path: z.string().startsWith("/"),
  key: z.base64(),
  info: z.enum(["Image", "Video", "Audio", "Document"]),
});

/** The file of a message, which stays on the platform. An album is several messages of one file each. */
export function mediaOf(content: WAMessageContent): readonly MediaItem[] {
  const header = cardOf(content)?.header;
  if (header) return mediaOf({ ...header });
  const { imageMessage, stickerMessage, audioMessage, documentMessage } = content;
  const video = content.videoMessage ?? content.ptvMessage;
  if (imageMessage) return item("image", "Image", imageMessage);
  if (video) return item("video", "Video", video);
  if (audioMessage) return item(audioMessage.ptt ? "voice" : "audio", "Audio", audioMessage);
  if (stickerMessage) return item("sticker", "Image", stickerMessage);
  if (!documentMessage) return [];
  return item(documentMessage.mimetype?.startsWith("image/") ? "image" : "document", "Document", documentMessage);
}

function item(kind: MediaKind, info: Info, file: WhatsAppFile): readonly MediaItem[] {
  if (!file.mediaKey || !file.directPath) return [];
  const bytes = Number(file.fileLength ?? 0);
  const ref = { path: file.directPath, key: Buffer.from(file.mediaKey).toString("base64"), info };
  return [
    {
      kind,
      ...(file.mimetype && { mime: file.mimetype.split(";")[0] ?? file.mimetype }),
      ...(file.fileName && { name: file.fileName }),
      ...(bytes > 0 && { bytes }),
      ...(file.seconds && { durationSeconds: file.seconds }),
      source: { at: "platform", ref: JSON.stringify(ref) },
    },
  ];
}

/** AES blocks and the ten bytes of the MAC that follow them. */
const BLOCK = 16;
const MAC = 10;

/** Fetches and decrypts a file. Throws like `ChannelLink.download`. Errors contain neither the URL nor the key. */
export async function download(host: ChannelHost, config: WhatsAppConfig, file: MediaItem): Promise<FetchedFile> {
  if (file.source.at !== "platform") throw unavailable("it is not on WhatsApp");
  const limit = config.mediaMaxMb * 1_048_576;
  if ((file.bytes ?? 0) > limit) throw mediaTooLarge("WhatsApp", "whatsapp", config.mediaMaxMb);
  const { path, key, info } = readRef(file.source.ref);
  const { bytes } = await host.fetch(`${config.mediaUrl}${path}`, {
    headers: { origin: "https://web.whatsapp.com" },
    maxBytes: limit + MAC + BLOCK,
    trusted: [new URL(config.mediaUrl).origin],
  });
  return { bytes: decrypt(bytes, Buffer.from(key, "base64"), info), ...(file.mime && { mime: file.mime }) };
}

function readRef(text: string): z.output<typeof refShape> {
  try {
    return refShape.parse(JSON.parse(text));
  } catch {
    throw unavailable("the stored reference is incomplete");
  }
}

function decrypt(sealed: Uint8Array, mediaKey: Uint8Array, info: Info): Uint8Array {
  const keys = Buffer.from(hkdfSync("sha256", mediaKey, new Uint8Array(0), `WhatsApp ${info} Keys`, 112));
  const [iv, cipherKey, macKey] = [keys.subarray(0, 16), keys.subarray(16, 48), keys.subarray(48, 80)];
  const body = sealed.subarray(0, -MAC);
  const mac = createHmac("sha256", macKey).update(iv).update(body).digest().subarray(0, MAC);
  const given = sealed.subarray(-MAC);
  if (given.length !== MAC || !timingSafeEqual(mac, given)) throw unavailable("it is damaged");
  const cipher = createDecipheriv("aes-256-cbc", cipherKey, iv);
  return Buffer.concat([cipher.update(body), cipher.final()]);
}

const unavailable = (reason: string) => mediaUnavailable("WhatsApp", reason);
