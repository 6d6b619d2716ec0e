import type { ChannelAdapter, ChannelHost, ChannelLink } from "openclaw/plugin-sdk";
import { openBot, whoAmI } from "./api.ts";
import type { Bot, Self } from "./api.ts";
import { telegramConfig } from "./config.ts";
import type { TelegramConfig } from "./config.ts";
import { download } from "./download.ts";
import { badToken, failureOf, isBadToken } from "./failures.ts";
import { TELEGRAM } from "./inbound.ts";
import { poll } from "./poll.ts";
import { changes, envelope, sendText } from "./send.ts";
import { sendFile } from "./upload.ts";

export { telegramAccounts, telegramConfig } from "./config.ts";
export type { TelegramConfig } from "./config.ts";

/** Telegram over the Bot API, by long polling. */
export const telegram: ChannelAdapter<TelegramConfig> = {
  id: TELEGRAM,
  label: "Telegram",
  // What a bot may send; files that it may fetch end at 20 MB. Edits of one chat more often than once a second earn a 429.
  limits: { text: 4096, format: "telegram-html", media: 50 * 1_048_576, editEveryMs: 1000 },
  config: telegramConfig,
  async connect(config, host) {
    const bot = await openBot(config);
    const self = await firstContact(bot, host);
    return link({ bot, config, host }, self);
  },
};

/** Undefined when Telegram cannot be asked now; the polling asks again. */
async function firstContact(bot: Bot, host: ChannelHost): Promise<Self | undefined> {
  try {
    return await whoAmI(bot, host.signal);
  } catch (error) {
    const failure = failureOf(error);
    if (isBadToken(failure)) throw badToken(failure.text);
    host.report({ kind: "trouble", reason: failure.text });
    return undefined;
  }
}

function link(room: { bot: Bot; config: TelegramConfig; host: ChannelHost }, self: Self | undefined): ChannelLink {
  const { bot, config, host } = room;
  const end = new AbortController();
  const polling = poll({ ...room, signal: AbortSignal.any([host.signal, end.signal]) }, self);
  return {
    async send(to, part, options) {
      const where = envelope(to, options);
      return part.kind === "text" ? sendText(bot, config, where, part) : sendFile(room, where, part);
    },
    ...changes(bot, config, (reason) => host.log.info("typing was not shown", { reason })),
    download: (item) => download(bot, config, item),
    async close() {
      end.abort();
      await polling;
    },
  };
}

/** For `openclaw doctor`: the name of the bot. Throws `OpenClawError` when the token is wrong, an `Error` when nobody answers. */
export async function probe(config: TelegramConfig, signal: AbortSignal): Promise<string> {
  try {
    const self = await whoAmI(await openBot(config), signal);
    return `@${self.username}`;
  } catch (error) {
    const failure = failureOf(error);
    if (isBadToken(failure)) throw badToken(failure.text);
    if (failure.kind === "answered" || failure.kind === "unreached") throw new Error(failure.text);
    throw error;
  }
}
