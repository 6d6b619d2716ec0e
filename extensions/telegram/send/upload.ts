import { InputFile } from "grammy";
import type { InputMediaAudio, InputMediaDocument, InputMediaPhoto, InputMediaVideo } from "grammy/types";
import { BoundedMap, type OutboundFiles, type SendResult, fileNameOf, type MediaItem } from "openclaw/plugin-sdk";
import type { SendFields } from "./envelope.ts";
import type { Account } from "../account.ts";
import { deliver, withPlainTextFallback, sendText, type FormattedText } from "./send.ts";
import { CAPTION_UNITS, isWrongKind, methodOf, sizeRefusal, type FileMethod, maxFileBytes } from "./shapes.ts";

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
  async send(to: SendFields, part: OutboundFiles, key: string): Promise<SendResult> {
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

  async #sendAll(to: SendFields, part: OutboundFiles, files: readonly Opened[]): Promise<SendResult> {
    const { caption } = part;
    const send = async (text?: FormattedText): Promise<SendResult> => {
      const result = await (files.length > 1
        ? sendGroup(this.#account, to, { files, text })
        : this.#sendAs(to, part, { files, text }));
      return result.kind === "refused" ? sizeRefusal(result, this.#account.config) : result;
    };
    return caption ? withPlainTextFallback(caption, send) : send();
  }

  async #sendAs(to: SendFields, part: OutboundFiles, { files, text }: FileMessage): Promise<SendResult> {
    const [opened] = files;
    if (!opened) return { kind: "refused", reason: "there is no file" };
    const method = methodOf(part, opened.bytes);
    const attempt = (how: FileMethod): Promise<SendResult> =>
      deliver(this.#account, to, (at) =>
        call(this.#account, how, { to: { ...at, ...captionOf(text) }, file: opened.file() }),
      );
    const result = await attempt(method);
    return isWrongKind(result) && method !== "sendDocument" ? attempt("sendDocument") : result;
  }
}

const fitsCaption = (part: OutboundFiles, [first]: readonly Opened[]): boolean =>
  (part.caption?.plain.length ?? 0) <= CAPTION_UNITS && methodOf(part, first?.bytes ?? 0) !== "sendSticker";

type Captioned = SendFields & ReturnType<typeof captionOf>;

async function call(
  { bot }: Account,
  method: FileMethod,
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

/** Sends an album. Pictures that Telegram does not accept as such are sent as plain files. Never rejects. */
async function sendGroup(account: Account, to: SendFields, load: FileMessage): Promise<SendResult> {
  const methods = load.files.map(({ item, bytes }) => methodOf({ media: item }, bytes));
  const kind = kindOf(methods);
  const attempt = async (media: () => Media): Promise<SendResult> =>
    named(await deliver(account, to, (at) => post(account, at, media())), load);
  const result = await attempt(() => MEDIA[kind](load, methods));
  return kind !== "files" && isWrongKind(result) && !isPartlySent(result)
    ? attempt(() => MEDIA.files(load, methods))
    : result;
}

type Kind = "visual" | "audio" | "files";
type Media =
  | readonly InputMediaAudio[]
  | readonly InputMediaDocument[]
  | readonly (InputMediaPhoto | InputMediaVideo)[];

/** An album of documents or of audio holds nothing else; a mixed one is sent as documents. */
function kindOf(methods: readonly FileMethod[]): Kind {
  if (methods.every((method) => method === "sendPhoto" || method === "sendVideo")) return "visual";
  return methods.every((method) => method === "sendAudio") ? "audio" : "files";
}

/** Telegram shows the caption of the first file below the album, if no other file has one. */
const caption = ({ text }: FileMessage, at: number) => (at === 0 ? captionOf(text) : {});

const MEDIA: Readonly<Record<Kind, (load: FileMessage, methods: readonly FileMethod[]) => Media>> = {
  visual: (load, methods) =>
    load.files.map((file, at) => {
      const type = methods[at] === "sendVideo" ? "video" : "photo";
      return { type, media: file.file(), ...caption(load, at) };
    }),
  audio: (load) => load.files.map((file, at) => ({ type: "audio", media: file.file(), ...caption(load, at) })),
  files: (load) => load.files.map((file, at) => ({ type: "document", media: file.file(), ...caption(load, at) })),
};

async function post({ bot, own }: Account, to: SendFields, media: Media): Promise<{ message_id: number }> {
  const [first, ...others] = await bot.calls.sendMediaGroup({ ...to, media });
  if (!first) throw new Error("Telegram names no message of the album");
  for (const { message_id: id } of others) own.add(String(to.chat_id), String(id), to.message_thread_id);
  return first;
}

/** Telegram's error text when it took some files of an album and failed at another one. */
const FAILED_AT = /failed to send message #(\d+)/i;

const isPartlySent = (result: SendResult): boolean => result.kind !== "sent" && FAILED_AT.test(result.reason);

/** Adds the name of the refused file. After a rate limit, the chat may show a part of the album. */
function named(result: SendResult, { files }: FileMessage): SendResult {
  const at = result.kind === "refused" ? FAILED_AT.exec(result.reason)?.[1] : undefined;
  if (result.kind !== "refused" || at === undefined) return result;
  if (/too many requests/i.test(result.reason)) return { kind: "unknown", reason: result.reason };
  const name = files[Number(at) - 1]?.item.name;
  return name === undefined ? result : { ...result, reason: `${name}: ${result.reason}` };
}

/** A file that can be sent. */
interface Opened {
  readonly kind: "open";
  readonly item: MediaItem;
  readonly bytes: number;
  /** A new object for each attempt: grammY can read one only once. */
  file(): InputFile | string;
}

/** Reads a file from the store. Never rejects. */
async function openFile(
  { host, config }: Account,
  item: MediaItem,
): Promise<Opened | Extract<SendResult, { kind: "refused" }>> {
  if (item.source.at === "platform") {
    const { ref } = item.source;
    return { kind: "open", item, bytes: 0, file: () => ref };
  }
  const name = fileNameOf(item);
  try {
    const bytes = await host.openMedia(item);
    const most = maxFileBytes(config);
    if (bytes.length > most) {
      return {
        kind: "refused",
        reason: `${item.name ?? "the file"} is larger than the ${most / 1_048_576} MB that a bot may send`,
      };
    }
    return { kind: "open", item, bytes: bytes.length, file: () => new InputFile(bytes, name) };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return { kind: "refused", reason: `${item.name ?? "the file"} cannot be read: ${reason}` };
  }
}

/** The files of one message, and the text below them. */
interface FileMessage {
  readonly files: readonly Opened[];
  readonly text?: FormattedText | undefined;
}

/** A text as the fields of a call that sends a file. */
const captionOf = (
  formatted: FormattedText | undefined,
): { readonly caption?: string; readonly parse_mode?: "HTML" } => {
  if (!formatted) return {};
  const { text: caption, ...mode } = formatted;
  return { caption, ...mode };
};
