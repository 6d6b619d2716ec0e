import type { InputMediaAudio, InputMediaDocument, InputMediaPhoto, InputMediaVideo } from "grammy/types";
import type { SendResult } from "openclaw/plugin-sdk";
import type { Envelope } from "./envelope.ts";
import { captionOf } from "./files.ts";
import type { Load } from "./files.ts";
import type { Account } from "../account.ts";
import { deliver } from "./send.ts";
import { isUnfit, methodOf } from "./shapes.ts";
import type { Method } from "./shapes.ts";

/** Sends an album. Pictures that Telegram does not take as such go as plain files. Never rejects. */
export async function sendGroup(account: Account, to: Envelope, load: Load): Promise<SendResult> {
  const methods = load.files.map(({ item, bytes }) => methodOf({ media: item }, bytes));
  const kind = kindOf(methods);
  const attempt = async (media: () => Media): Promise<SendResult> =>
    named(await deliver(account, to, (at) => post(account, at, media())), load);
  const result = await attempt(() => MEDIA[kind](load, methods));
  return kind !== "files" && isUnfit(result) && !isHalfDone(result)
    ? attempt(() => MEDIA.files(load, methods))
    : result;
}

type Kind = "looks" | "sounds" | "files";
type Media =
  | readonly InputMediaAudio[]
  | readonly InputMediaDocument[]
  | readonly (InputMediaPhoto | InputMediaVideo)[];

/** Documents and sounds are only among themselves; what would be mixed goes as documents. */
function kindOf(methods: readonly Method[]): Kind {
  if (methods.every((method) => method === "sendPhoto" || method === "sendVideo")) return "looks";
  return methods.every((method) => method === "sendAudio") ? "sounds" : "files";
}

/** An album whose first file alone has a caption shows it below all of them. */
const caption = ({ words }: Load, at: number) => (at === 0 ? captionOf(words) : {});

const MEDIA: Readonly<Record<Kind, (load: Load, methods: readonly Method[]) => Media>> = {
  looks: (load, methods) =>
    load.files.map((file, at) => {
      const type = methods[at] === "sendVideo" ? "video" : "photo";
      return { type, media: file.file(), ...caption(load, at) };
    }),
  sounds: (load) => load.files.map((file, at) => ({ type: "audio", media: file.file(), ...caption(load, at) })),
  files: (load) => load.files.map((file, at) => ({ type: "document", media: file.file(), ...caption(load, at) })),
};

async function post({ bot, own }: Account, to: Envelope, media: Media): Promise<{ message_id: number }> {
  const [first, ...others] = await bot.calls.sendMediaGroup({ ...to, media });
  if (!first) throw new Error("Telegram names no message of the album");
  for (const { message_id: id } of others) own.add(String(to.chat_id), String(id), to.message_thread_id);
  return first;
}

/** The service's words when it had taken some files of an album and failed at another one. */
const FAILED_AT = /failed to send message #(\d+)/i;

const isHalfDone = (result: SendResult): boolean => result.kind !== "sent" && FAILED_AT.test(result.reason);

/** Tells which file a refusal is about. What came too quickly may stand there in part. */
function named(result: SendResult, { files }: Load): SendResult {
  const at = result.kind === "refused" ? FAILED_AT.exec(result.reason)?.[1] : undefined;
  if (result.kind !== "refused" || at === undefined) return result;
  if (/too many requests/i.test(result.reason)) return { kind: "unknown", reason: result.reason };
  const name = files[Number(at) - 1]?.item.name;
  return name === undefined ? result : { ...result, reason: `${name}: ${result.reason}` };
}
