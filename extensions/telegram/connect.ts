import type { ChannelHost, ChannelLink } from "openclaw/plugin-sdk";
import { openBot, whoAmI } from "./api.ts";
import type { Bot, Self } from "./api.ts";
import { ChatIds } from "./chat-ids.ts";
import type { TelegramConfig } from "./config.ts";
import { download } from "./receive/download.ts";
import { Drafts } from "./send/drafts.ts";
import { badToken, failureOf, isBadToken } from "./send/failures.ts";
import { Forums } from "./receive/forums.ts";
import { Intake } from "./receive/intake.ts";
import { GroupMigrations } from "./receive/migrations.ts";
import { OwnMessages } from "./own-messages.ts";
import { Posts } from "./receive/posts.ts";
import { openReceiver, receive } from "./receive/receive.ts";
import type { Account } from "./account.ts";
import { explain } from "./receive/failure-report.ts";
import { outgoing } from "./send/outgoing.ts";

/** Begins to receive. Throws `OpenClawError` when the settings cannot work or Telegram does not know the token. */
export async function connect(config: TelegramConfig, host: ChannelHost): Promise<ChannelLink> {
  const bot = await openBot(config);
  const known = { migrations: new GroupMigrations(config, host), own: new OwnMessages(host), forums: new Forums() };
  const account = { bot, config, host, ...known, posts: new Posts(config) };
  return link(account, await firstContact(bot, host));
}

/** Undefined when Telegram cannot be reached; `receive` asks again. */
async function firstContact(bot: Bot, host: ChannelHost): Promise<Self | undefined> {
  try {
    return await whoAmI(bot, host.signal);
  } catch (error) {
    const failure = failureOf(error);
    if (isBadToken(failure)) throw badToken(failure.text);
    host.report({ kind: "trouble", ...explain(failure) });
    return undefined;
  }
}

function link(account: Account, self: Self | undefined): ChannelLink {
  const { bot, config, host } = account;
  const end = new AbortController();
  const signal = AbortSignal.any([host.signal, end.signal]);
  const intake = new Intake(account, signal);
  const drafts = new Drafts(account);
  const chatIds = new ChatIds(account);
  const receiving = { account, intake, signal };
  const received = receive(receiving, openReceiver(receiving), self);
  return {
    ...outgoing(account),
    chatId: (to) => chatIds.of(to),
    stream: (to, options) => drafts.stream(to, options),
    download: (item) => download(bot, config, item),
    async close() {
      end.abort();
      await received;
      await intake.end();
      await account.own.save();
    },
  };
}

/** The name of the bot. Throws `OpenClawError` when the token is wrong, an `Error` when Telegram does not answer. */
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
