import type { ChannelAdapter } from "openclaw/plugin-sdk";
import { TELEGRAM, telegramConfig } from "./config.ts";
import type { TelegramConfig } from "./config.ts";
import { CAPTION_UNITS, sortOf } from "./send/shapes.ts";

export { telegramAccounts, telegramConfig } from "./config.ts";
export type { TelegramConfig } from "./config.ts";

const MB = 1_048_576;

/** Telegram over the Bot API, by long polling. grammY is loaded with the first connection. */
export const telegram: ChannelAdapter<TelegramConfig> = {
  id: TELEGRAM,
  label: "Telegram",
  // What a bot may send; files that it may fetch end at 20 MB. Edits of one chat more often than once a second earn a 429.
  limits: {
    text: 4096,
    format: "telegram-html",
    media: 50 * MB,
    editEveryMs: 1000,
    // core.telegram.org/bots/api#sendphoto and #sendmediagroup; one call brings 50 MB.
    caption: { text: CAPTION_UNITS, not: ["sticker"] },
    album: { files: 10, bytes: 50 * MB, sortOf },
    silent: true,
  },
  config: telegramConfig,
  async connect(config, host) {
    const { connect } = await import("./connect.ts");
    return connect(config, host);
  },
  probe,
};

/** For `openclaw doctor`: the name of the bot. Throws `OpenClawError` when the token is wrong, an `Error` when nobody answers. */
export async function probe(config: TelegramConfig, signal: AbortSignal): Promise<string> {
  const { askName } = await import("./connect.ts");
  return askName(config, signal);
}
