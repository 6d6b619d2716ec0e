import fs from "node:fs/promises";
import path from "node:path";
import { isPassingStatus, NotNow, OpenClawError, retryAfterMs } from "openclaw/plugin-sdk";
import type { FetchedFile, MediaItem } from "openclaw/plugin-sdk";
import type { BotApi } from "../api.ts";
import type { TelegramConfig } from "../config.ts";
import { failureOf } from "../send/failures.ts";
import type { CallFailure } from "../send/failures.ts";

type Settings = Pick<TelegramConfig, "mediaMaxMb" | "timeoutSeconds" | "apiRoot" | "trustedLocalFileRoots">;

/** Fetches a file from Telegram. Throws like `ChannelLink.download`. Errors never contain the URL, which has the token. */
export async function download(bot: BotApi, config: Settings, item: MediaItem): Promise<FetchedFile> {
  if (item.source.at !== "platform") throw unavailable("it is not on Telegram");
  const limit = config.mediaMaxMb * 1_048_576;
  if ((item.bytes ?? 0) > limit) throw tooLarge(config);
  const file = await bot.calls.getFile({ file_id: item.source.ref }).catch((error: unknown) => {
    throw whyNoPath(failureOf(error), config);
  });
  if ((file.file_size ?? 0) > limit) throw tooLarge(config);
  if (file.file_path === undefined) throw unavailable("Telegram gives no path for it");
  if (path.isAbsolute(file.file_path)) return { bytes: await readLocal(file.file_path, config) };
  return { bytes: await fetchBytes(bot, file.file_path, config) };
}

/** Telegram also says "temporarily unavailable" about files that it cannot find. */
function whyNoPath(failure: CallFailure, config: Settings): Error {
  const { text } = failure;
  if (failure.kind !== "answered") return new NotNow(text);
  if (/file is too big/i.test(text)) return tooLarge(config);
  const isTemporary = isPassingStatus(failure.code) || /temporarily/i.test(text);
  return isTemporary ? new NotNow(`Telegram: ${text}`, { afterMs: failure.retryAfterMs }) : unavailable(text);
}

/** A Bot API server with `--local` returns paths on its own machine. */
async function readLocal(file: string, config: Settings): Promise<Uint8Array> {
  try {
    const real = await fs.realpath(file);
    const roots = await Promise.all(config.trustedLocalFileRoots.map(async (root) => fs.realpath(root)));
    if (!roots.some((root) => real.startsWith(`${root}${path.sep}`))) {
      throw unavailable("its path is not below channels.telegram.trustedLocalFileRoots");
    }
    await using opened = await fs.open(real);
    const { size } = await opened.stat();
    if (size > config.mediaMaxMb * 1_048_576) throw tooLarge(config);
    return await opened.readFile();
  } catch (error) {
    if (error instanceof OpenClawError) throw error;
    throw unavailable(error instanceof Error && "code" in error ? String(error.code) : "it cannot be read");
  }
}

async function fetchBytes({ wire, token }: BotApi, file: string, config: Settings): Promise<Uint8Array> {
  try {
    const url = `${config.apiRoot}/file/bot${token}/${file}`;
    const answer = await wire.get(url, AbortSignal.timeout(config.timeoutSeconds * 1000));
    const bytes = await readAll(answer.body, config);
    const { status, retryAfter } = answer;
    const reason = `Telegram answers ${status}`;
    if (isPassingStatus(status)) throw new NotNow(reason, { afterMs: retryAfterMs(retryAfter) });
    if (status !== 200) throw unavailable(reason);
    return bytes;
  } catch (error) {
    if (error instanceof OpenClawError || error instanceof NotNow) throw error;
    throw new NotNow(failureOf(error).text);
  }
}

async function readAll(body: AsyncIterable<Uint8Array>, config: Settings): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > config.mediaMaxMb * 1_048_576) throw tooLarge(config);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

const unavailable = (reason: string): OpenClawError =>
  new OpenClawError("MEDIA_UNAVAILABLE", {
    message: `A file cannot be fetched from Telegram: ${reason}.`,
    fix: "Ask the sender to send the file again.",
  });

const tooLarge = (config: Settings): OpenClawError =>
  new OpenClawError("MEDIA_TOO_LARGE", {
    message: `A file on Telegram is larger than a bot may fetch, or than ${config.mediaMaxMb} MB.`,
    fix: "Ask for a smaller file; channels.telegram.mediaMaxMb goes up to 20 with the public Bot API.",
  });
