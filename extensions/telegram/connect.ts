import type { ChannelHost, ChannelLink } from "openclaw/plugin-sdk";
import { openBot, whoAmI } from "./api.ts";
import type { Bot, Self } from "./api.ts";
import type { TelegramConfig } from "./config.ts";
import { download } from "./download.ts";
import { badToken, failureOf, isBadToken } from "./failures.ts";
import { poll } from "./poll.ts";
import { changes, envelope, sendText } from "./send.ts";
import { sendFile } from "./upload.ts";

/** Begins to poll. Throws `OpenClawError` when there is no token or Telegram does not know it. */
export async function connect(config: TelegramConfig, host: ChannelHost): Promise<ChannelLink> {
  const bot = await openBot(config);
  const self = await firstContact(bot, host);
  return link({ bot, config, host }, self);
}

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

/** The name of the bot. Throws `OpenClawError` when the token is wrong, an `Error` when nobody answers. */
export async function askName(config: TelegramConfig, signal: AbortSignal): Promise<string> {
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
