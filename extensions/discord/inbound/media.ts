import { NotNow, OpenClawError } from "openclaw/plugin-sdk";
import type { FetchedFile, MediaItem, MediaKind } from "openclaw/plugin-sdk";
import { outcomeOf, reasonOf } from "../failures.ts";
import type { Bot } from "../bot.ts";
import { messageShape } from "../message-shape.ts";
import type { Attachment, Message, Snapshot } from "../message-shape.ts";
import { snapshotsOf } from "../text.ts";

const CDN = "https://cdn.discordapp.com";
/** Message flag of voice notes; docs.discord.com/developers/resources/message#message-object-message-flags */
const IS_VOICE = 1 << 13;
/** Formats of stickers that are pictures: PNG, APNG, GIF. The other is Lottie, a drawing in JSON. */
const STICKER_FILES: Readonly<Record<number, readonly [ending: string, mime: string]>> = {
  1: ["png", "image/png"],
  2: ["png", "image/png"],
  4: ["gif", "image/gif"],
};

/** The files of a message and of the messages that it forwards, still on the platform. */
export function mediaOf(message: Message, cdnUrl: string = CDN): readonly MediaItem[] {
  const forwarded = snapshotsOf(message);
  const files = [message, ...forwarded].flatMap(({ attachments, flags }) =>
    attachments.map((attachment) => item(attachment, { message, isVoice: (flags & IS_VOICE) !== 0 })),
  );
  return [...files, ...[message, ...forwarded].flatMap((one) => stickersOf(one, cdnUrl))];
}

const stickersOf = ({ sticker_items: stickers }: Snapshot, cdnUrl: string): readonly MediaItem[] =>
  stickers.flatMap((sticker): MediaItem[] => {
    const file = STICKER_FILES[sticker.format_type];
    if (!file) return [];
    const [ending, mime] = file;
    const ref = `${cdnUrl}/stickers/${sticker.id}.${ending}`;
    return [{ kind: "sticker", mime, name: `${sticker.name}.${ending}`, source: { at: "platform", ref } }];
  });

function item(attachment: Attachment, { message, isVoice }: { message: Message; isVoice: boolean }): MediaItem {
  const { content_type: type, duration_secs: seconds } = attachment;
  const mime = type?.split(";")[0];
  return {
    kind: isVoice ? "voice" : kindOf(mime),
    ...(mime !== undefined && { mime }),
    ...(attachment.filename !== undefined && { name: attachment.filename }),
    ...(attachment.size !== undefined && { bytes: attachment.size }),
    ...(seconds !== undefined && { durationSeconds: seconds }),
    source: { at: "platform", ref: `${attachment.url}#${message.channel_id}/${message.id}/${attachment.id}` },
  };
}

function kindOf(mime: string | undefined): MediaKind {
  const [group] = (mime ?? "").split("/");
  return group === "image" || group === "audio" || group === "video" ? group : "document";
}

/** Fetches a file from Discord; asks for a new address when the known one expired. Throws as `ChannelLink.download`. */
export async function download(bot: Bot, file: MediaItem): Promise<FetchedFile> {
  if (file.source.at !== "platform") throw unavailable("it is not on Discord");
  const [url = "", where] = file.source.ref.split("#");
  if ((file.bytes ?? 0) > limitOf(bot)) throw tooLarge(bot);
  try {
    return await fetchFrom(bot, url);
  } catch (error) {
    const isTooLarge = error instanceof OpenClawError && error.code === "MEDIA_TOO_LARGE";
    const isAddress = !isTooLarge && !(error instanceof NotNow);
    const fresh = isAddress && where !== undefined ? await newUrl(bot, where) : undefined;
    if (fresh === undefined || fresh === url) throw error;
    return fetchFrom(bot, fresh);
  }
}

const limitOf = ({ config }: Bot): number => config.mediaMaxMb * 1_048_576;

async function fetchFrom(bot: Bot, url: string): Promise<FetchedFile> {
  const { cdnUrl } = bot.config;
  const trusted = cdnUrl === undefined ? {} : { trusted: [new URL(cdnUrl).origin] };
  return bot.host.fetch(url, { maxBytes: limitOf(bot), ...trusted });
}

async function newUrl(bot: Bot, where: string): Promise<string | undefined> {
  const [channel, message, attachment] = where.split("/");
  try {
    const found = messageShape.parse(await bot.api.ask<unknown>("GET", `/channels/${channel}/messages/${message}`));
    const all = [found, ...snapshotsOf(found)].flatMap(({ attachments }) => attachments);
    return all.find(({ id }) => id === attachment)?.url;
  } catch (error) {
    const outcome = outcomeOf(error);
    if (outcome.kind === "refused") throw unavailable(outcome.reason);
    throw new NotNow(reasonOf(error), { afterMs: outcome.kind === "retry" ? outcome.afterMs : undefined });
  }
}

const unavailable = (reason: string): OpenClawError =>
  new OpenClawError("MEDIA_UNAVAILABLE", {
    message: `A file cannot be fetched from Discord: ${reason}.`,
    fix: "Ask the sender to send the file again.",
  });

const tooLarge = (bot: Bot): OpenClawError =>
  new OpenClawError("MEDIA_TOO_LARGE", {
    message: `A file on Discord is larger than ${bot.config.mediaMaxMb} MB.`,
    fix: "Raise channels.discord.mediaMaxMb, or ask for a smaller file.",
  });
