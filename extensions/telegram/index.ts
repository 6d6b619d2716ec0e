import type { ChannelAdapter } from "openclaw/plugin-sdk";
import { TELEGRAM, telegramConfig } from "./config.ts";
import type { TelegramConfig } from "./config.ts";
import { buttonLimits } from "./send/envelope.ts";
import { CAPTION_UNITS, sortOf } from "./send/shapes.ts";

export { telegramAccounts, telegramConfig } from "./config.ts";
export type { TelegramConfig } from "./config.ts";

const MB = 1_048_576;

/** Telegram over the Bot API, by long polling or a webhook. grammY is loaded with the first connection. */
export const telegram: ChannelAdapter<TelegramConfig> = {
  id: TELEGRAM,
  label: "Telegram",
  // The limits of a bot's messages; files that it fetches are limited to 20 MB. More than one edit per second in a chat causes a 429.
  limits: {
    text: 4096,
    format: "telegram-html",
    media: 50 * MB,
    editEveryMs: 1000,
    // core.telegram.org/bots/api#sendphoto and #sendmediagroup; one call may have 50 MB.
    caption: { text: CAPTION_UNITS, not: ["sticker"] },
    album: { files: 10, bytes: 50 * MB, sortOf },
    silent: true,
  },
  config: telegramConfig,
  buttons: buttonLimits,
  async connect(config, host) {
    const { connect } = await import("./connect.ts");
    return connect(config, host);
  },
  probe,
};

/**
 * Probe of `openclaw doctor`: the name of the bot. Throws `OpenClawError` when the token is wrong, an `Error` when
 * Telegram does not answer.
 */
export async function probe(config: TelegramConfig, signal: AbortSignal): Promise<string> {
  const { askName } = await import("./connect.ts");
  return askName(config, signal);
}
