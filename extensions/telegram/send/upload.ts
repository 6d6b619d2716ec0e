import type { InputFile } from "grammy";
import { BoundedMap } from "openclaw/plugin-sdk";
import type { OutboundFiles, SendResult } from "openclaw/plugin-sdk";
import type { Envelope } from "./envelope.ts";
import { captionOf, openFile } from "./files.ts";
import type { FileMessage, Opened } from "./files.ts";
import { sendGroup } from "./media-group.ts";
import type { Account } from "../account.ts";
import { deliver, withPlainTextFallback, sendText } from "./send.ts";
import type { FormattedText } from "./send.ts";
import { CAPTION_UNITS, isWrongKind, methodOf, sizeRefusal } from "./shapes.ts";
import type { Method } from "./shapes.ts";

const MOST_CAPTIONED = 200;

/** Sends files. A caption that a file cannot have is sent before it, only once for all attempts. */
export class Uploads {
  readonly #account: Account;
  /** Idempotency keys of files whose caption was sent. */
  readonly #captioned = new BoundedMap<string, true>(MOST_CAPTIONED);

  constructor(account: Account) {
    this.#account = account;
  }

  /** A file that Telegram does not accept as a photo or a voice message is sent as a plain file. Never rejects. */
  async send(to: Envelope, part: OutboundFiles, key: string): Promise<SendResult> {
    const files: Opened[] = [];
    for (const item of [part.media, ...(part.more ?? [])]) {
      const opened = await openFile(this.#account, item);
      if (opened.kind === "refused") return opened;
      files.push(opened);
    }
    const { caption, ...bare } = part;
    if (caption === undefined || fitsCaption(part, files)) return this.#sendAll(to, part, files);
    if (!this.#captioned.has(key)) {
      const sent = await sendText(this.#account, to, caption);
      if (sent.kind !== "sent") return sent;
      this.#captioned.set(key, true);
    }
    const result = await this.#sendAll(to, bare, files);
    if (result.kind !== "retry") this.#captioned.delete(key);
    return result;
  }

  async #sendAll(to: Envelope, part: OutboundFiles, files: readonly Opened[]): Promise<SendResult> {
    const { caption } = part;
    const send = async (text?: FormattedText): Promise<SendResult> => {
      const result = await (files.length > 1
        ? sendGroup(this.#account, to, { files, text })
        : this.#sendAs(to, part, { files, text }));
      return result.kind === "refused" ? sizeRefusal(result, this.#account.config) : result;
    };
    return caption ? withPlainTextFallback(caption, send) : send();
  }

  async #sendAs(to: Envelope, part: OutboundFiles, { files, text }: FileMessage): Promise<SendResult> {
    const [opened] = files;
    if (!opened) return { kind: "refused", reason: "there is no file" };
    const method = methodOf(part, opened.bytes);
    const attempt = (how: Method): Promise<SendResult> =>
      deliver(this.#account, to, (at) =>
        call(this.#account, how, { to: { ...at, ...captionOf(text) }, file: opened.file() }),
      );
    const result = await attempt(method);
    return isWrongKind(result) && method !== "sendDocument" ? attempt("sendDocument") : result;
  }
}

const fitsCaption = (part: OutboundFiles, [first]: readonly Opened[]): boolean =>
  (part.caption?.plain.length ?? 0) <= CAPTION_UNITS && methodOf(part, first?.bytes ?? 0) !== "sendSticker";

type Captioned = Envelope & ReturnType<typeof captionOf>;

async function call(
  { bot }: Account,
  method: Method,
  { to, file }: { readonly to: Captioned; readonly file: InputFile | string },
): Promise<{ message_id: number }> {
  switch (method) {
    case "sendPhoto":
      return bot.calls.sendPhoto({ ...to, photo: file });
    case "sendVoice":
      return bot.calls.sendVoice({ ...to, voice: file });
    case "sendAudio":
      return bot.calls.sendAudio({ ...to, audio: file });
    case "sendVideo":
      return bot.calls.sendVideo({ ...to, video: file });
    case "sendAnimation":
      return bot.calls.sendAnimation({ ...to, animation: file });
    case "sendSticker":
      return bot.calls.sendSticker({ ...to, sticker: file });
    case "sendDocument":
      return bot.calls.sendDocument({ ...to, document: file });
  }
}
