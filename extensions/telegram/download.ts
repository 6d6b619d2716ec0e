import { OpenClawError } from "openclaw/plugin-sdk";
import type { MediaItem } from "openclaw/plugin-sdk";
import type { Bot } from "./api.ts";
import type { TelegramConfig } from "./config.ts";
import { failureOf } from "./failures.ts";

/** Fetches a file that Telegram holds. Throws `OpenClawError`; the address, which holds the token, is never told. */
export async function download(bot: Bot, config: TelegramConfig, item: MediaItem): Promise<{ bytes: Uint8Array }> {
  if (item.source.at !== "platform") throw unavailable("it is not on Telegram");
  const limit = config.mediaMaxMb * 1_048_576;
  if ((item.bytes ?? 0) > limit) throw tooLarge(config);
  const file = await bot.calls.getFile({ file_id: item.source.ref }).catch((error: unknown) => {
    throw unavailable(failureOf(error).text);
  });
  if ((file.file_size ?? 0) > limit) throw tooLarge(config);
  if (file.file_path === undefined) throw unavailable("Telegram gives no path for it");
  const bytes = await fetchBytes(`${config.apiRoot}/file/bot${bot.token}/${file.file_path}`, config);
  if (bytes.length > limit) throw tooLarge(config);
  return { bytes };
}

async function fetchBytes(url: string, config: TelegramConfig): Promise<Uint8Array> {
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(config.timeoutSeconds * 1000) });
    if (!answer.ok) throw unavailable(`Telegram answers ${answer.status}`);
    return new Uint8Array(await answer.arrayBuffer());
  } catch (error) {
    if (error instanceof OpenClawError) throw error;
    throw unavailable(error instanceof Error ? error.name : "the download failed");
  }
}

const unavailable = (reason: string): OpenClawError =>
  new OpenClawError("MEDIA_UNAVAILABLE", {
    message: `A file cannot be fetched from Telegram: ${reason}.`,
    fix: "Ask the sender to send the file again.",
  });

const tooLarge = (config: TelegramConfig): OpenClawError =>
  new OpenClawError("MEDIA_TOO_LARGE", {
    message: `A file on Telegram is larger than ${config.mediaMaxMb} MB.`,
    fix: "Ask for a smaller file; channels.telegram.mediaMaxMb goes up to 20 with the public Bot API.",
  });
