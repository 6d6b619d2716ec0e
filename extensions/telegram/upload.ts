import { InputFile } from "grammy";
import type { MediaItem, OutboundPart, SendResult } from "openclaw/plugin-sdk";
import type { Envelope } from "./envelope.ts";
import type { Room } from "./room.ts";
import { deliver, sendText } from "./send.ts";
import { defaultName, methodOf, mostBytes, sizeRefusal } from "./shapes.ts";
import type { Method } from "./shapes.ts";

type MediaPart = Extract<OutboundPart, { kind: "media" }>;

/** UTF-16 units of text below a file. */
const CAPTION_LIMIT = 1024;
const MOST_TOLD = 200;

/** Sends files. A caption that a file cannot have goes before it, once however often the file is tried. */
export class Uploads {
  readonly #room: Room;
  /** Idempotency keys of files whose caption people see already. */
  readonly #told = new Set<string>();

  constructor(room: Room) {
    this.#room = room;
  }

  /** A file that Telegram does not take as a photo or a voice note goes as a plain file. Never rejects. */
  async send(to: Envelope, part: MediaPart, key: string): Promise<SendResult> {
    const opened = await open(this.#room, part.media);
    if (opened.kind === "refused") return opened;
    const { caption, ...bare } = part;
    const isSticker = methodOf(part, opened.bytes) === "sendSticker";
    if (caption === undefined || (caption.length <= CAPTION_LIMIT && !isSticker)) return this.#sendAs(to, part, opened);
    if (!this.#told.has(key)) {
      const text = { kind: "text", body: caption, format: "plain", plain: caption } as const;
      const told = await sendText(this.#room, to, text);
      if (told.kind !== "sent") return told;
      this.#told.add(key);
    }
    const result = await this.#sendAs(to, bare, opened);
    const [oldest] = this.#told;
    if (result.kind !== "retry") this.#told.delete(key);
    else if (this.#told.size > MOST_TOLD && oldest !== undefined) this.#told.delete(oldest);
    return result;
  }

  async #sendAs(to: Envelope, part: MediaPart, opened: Opened): Promise<SendResult> {
    const method = methodOf(part, opened.bytes);
    const result = await this.#try(method, to, part, opened);
    if (result.kind !== "refused" || method === "sendDocument") return result;
    if (!/photo|image|voice|audio|video|sticker|animation|wrong file|PHOTO_|VOICE_/i.test(result.reason)) return result;
    return this.#try("sendDocument", to, part, opened);
  }

  async #try(method: Method, to: Envelope, part: MediaPart, opened: Opened): Promise<SendResult> {
    const room = this.#room;
    const result = await deliver(room, to, (at) =>
      call(room, method, { to: at, caption: part.caption }, opened.file()),
    );
    return result.kind === "refused" ? sizeRefusal(result, room.config) : result;
  }
}

interface Opened {
  readonly kind: "open";
  readonly bytes: number;
  file(): InputFile | string;
}

/** A file can be read once, so that each try gets its own. */
async function open(
  { host, config }: Room,
  item: MediaItem,
): Promise<Opened | Extract<SendResult, { kind: "refused" }>> {
  if (item.source.at === "platform") {
    const { ref } = item.source;
    return { kind: "open", bytes: 0, file: () => ref };
  }
  try {
    const bytes = await host.openMedia(item);
    const most = mostBytes(config);
    if (bytes.length > most) {
      return { kind: "refused", reason: `the file is larger than the ${most / 1_048_576} MB that a bot may send` };
    }
    return { kind: "open", bytes: bytes.length, file: () => new InputFile(bytes, item.name ?? defaultName(item)) };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return { kind: "refused", reason: `the file cannot be read: ${reason}` };
  }
}

async function call(
  { bot }: Room,
  method: Method,
  { to, caption }: { readonly to: Envelope; readonly caption: string | undefined },
  file: InputFile | string,
): Promise<{ message_id: number }> {
  const body = { ...to, ...(caption !== undefined && { caption }) };
  switch (method) {
    case "sendPhoto":
      return bot.calls.sendPhoto({ ...body, photo: file });
    case "sendVoice":
      return bot.calls.sendVoice({ ...body, voice: file });
    case "sendAudio":
      return bot.calls.sendAudio({ ...body, audio: file });
    case "sendVideo":
      return bot.calls.sendVideo({ ...body, video: file });
    case "sendAnimation":
      return bot.calls.sendAnimation({ ...body, animation: file });
    case "sendSticker":
      return bot.calls.sendSticker({ ...to, sticker: file });
    case "sendDocument":
      return bot.calls.sendDocument({ ...body, document: file });
  }
}
