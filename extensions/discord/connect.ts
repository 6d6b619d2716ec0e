import { background, BoundedMap, OpenClawError } from "openclaw/plugin-sdk";
import type { ChannelHost, ChannelLink } from "openclaw/plugin-sdk";
import { openApi, whoAmI } from "./api.ts";
import type { Api, Self } from "./api.ts";
import { changes } from "./changes.ts";
import type { DiscordConfig } from "./config.ts";
import { DirectChats } from "./direct-chats.ts";
import { badToken, INTENT_FIX, isBadToken, outcomeOf, reasonOf } from "./failures.ts";
import { EventQueue } from "./inbound/event-queue.ts";
import { download } from "./inbound/media.ts";
import { clearPending } from "./inbound/interactions.ts";
import { mayReadText, putMenu } from "./menu.ts";
import { missedSince } from "./inbound/missed.ts";
import { Places } from "./places.ts";
import { Threads } from "./threads.ts";
import type { Bot } from "./bot.ts";
import { send, targetOf } from "./send.ts";
import { DiscordGateway } from "./gateway/gateway.ts";

/** Connects to the gateway. Throws `OpenClawError` when there is no token or Discord refuses it. */
export async function connect(config: DiscordConfig, host: ChannelHost): Promise<ChannelLink> {
  const end = new AbortController();
  const signal = AbortSignal.any([host.signal, end.signal]);
  const api = openApi(config, signal);
  const self = await firstContact(api, host);
  const bot = createBot(api, { config, host, signal, self });
  await bot.directs.restore();
  const queue = new EventQueue(bot);
  const gateway = new DiscordGateway(bot, queue);
  const work = Promise.all([gateway.run(), queue.run()]);
  // Until the gateway has settled, a missed message looks like one that is still to come.
  await gateway.settled;
  background(
    "menu of commands",
    gateway.begun.then(async () => putMenu(bot)),
  );
  return {
    send: (to, part, options) => send(to, part, options, bot),
    ...changes(bot),
    chatId: (to) => targetOf(to, bot),
    clearPending: (message, reason) => clearPending(message, reason, bot),
    download: (item) => download(bot, item),
    missedSince: async (since) => (gateway.brings(since) ? [] : missedSince(since, bot)),
    async close() {
      end.abort();
      await work;
      await gateway.note();
      api.close();
    },
  };
}

/** An account without any connection yet. */
export function createBot(
  api: Api,
  { config, host, signal, self }: Pick<Bot, "config" | "host" | "signal"> & { self: Self | undefined },
): Bot {
  return {
    api,
    config,
    host,
    signal,
    self: { known: self },
    places: new Places(),
    directs: new DirectChats(api, host),
    nonces: new BoundedMap(1000),
    known: { own: new BoundedMap(5000), authors: new BoundedMap(2000), edited: new BoundedMap(2000) },
    threads: new Threads(),
    deferred: new BoundedMap(100),
    reactions: new BoundedMap(500),
  };
}

/** Undefined when Discord does not answer now; the gateway's READY says it later. */
async function firstContact(api: Api, host: ChannelHost): Promise<Self | undefined> {
  try {
    return await whoAmI(api);
  } catch (error) {
    if (isBadToken(error)) throw badToken();
    host.report({ kind: "trouble", reason: reasonOf(error) });
    return undefined;
  }
}

/** The name of the bot. Throws `OpenClawError` when the settings cannot work, an `Error` when nobody answers. */
export async function askName(config: DiscordConfig, signal: AbortSignal): Promise<string> {
  const api = openApi(config, signal);
  try {
    const self = await whoAmI(api);
    if (await mayReadText(api)) return self.name;
  } catch (error) {
    if (isBadToken(error)) throw badToken();
    const outcome = outcomeOf(error);
    throw new Error(outcome.kind === "sent" ? String(error) : outcome.reason, { cause: error });
  } finally {
    api.close();
  }
  throw new OpenClawError("CHANNEL_CONFIG", {
    message: "The Discord bot may not read the text of messages.",
    fix: INTENT_FIX,
  });
}
