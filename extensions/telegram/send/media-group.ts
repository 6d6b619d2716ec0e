import type { InputMediaAudio, InputMediaDocument, InputMediaPhoto, InputMediaVideo } from "grammy/types";
import type { SendResult } from "openclaw/plugin-sdk";
import type { Envelope } from "./envelope.ts";
import { captionOf } from "./files.ts";
import type { FileMessage } from "./files.ts";
import type { Account } from "../account.ts";
import { deliver } from "./send.ts";
import { isWrongKind, methodOf } from "./shapes.ts";
import type { Method } from "./shapes.ts";

/** Sends an album. Pictures that Telegram does not accept as such are sent as plain files. Never rejects. */
export async function sendGroup(account: Account, to: Envelope, load: FileMessage): Promise<SendResult> {
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
function kindOf(methods: readonly Method[]): Kind {
  if (methods.every((method) => method === "sendPhoto" || method === "sendVideo")) return "visual";
  return methods.every((method) => method === "sendAudio") ? "audio" : "files";
}

/** Telegram shows the caption of the first file below the album, if no other file has one. */
const caption = ({ text }: FileMessage, at: number) => (at === 0 ? captionOf(text) : {});

const MEDIA: Readonly<Record<Kind, (load: FileMessage, methods: readonly Method[]) => Media>> = {
  visual: (load, methods) =>
    load.files.map((file, at) => {
      const type = methods[at] === "sendVideo" ? "video" : "photo";
      return { type, media: file.file(), ...caption(load, at) };
    }),
  audio: (load) => load.files.map((file, at) => ({ type: "audio", media: file.file(), ...caption(load, at) })),
  files: (load) => load.files.map((file, at) => ({ type: "document", media: file.file(), ...caption(load, at) })),
};

async function post({ bot, own }: Account, to: Envelope, media: Media): Promise<{ message_id: number }> {
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
