import type { BoundedMap, ChannelHost, Sender } from "openclaw/plugin-sdk";
import type { Api, Self } from "./api.ts";
import type { DiscordConfig } from "./config.ts";
import { LeftOut } from "./failures.ts";
import type { DirectChats } from "./direct-chats.ts";
import type { DeferredReply } from "./deferred-reply.ts";
import type { Places } from "./places.ts";
import type { Threads } from "./threads.ts";

/** Messages that the account knows by their ids. */
interface KnownMessages {
  readonly own: BoundedMap<string, true>;
  /** Authors of received messages, whom the event of a deletion does not name. */
  readonly authors: BoundedMap<string, Sender>;
  /** Messages of which an edit was received. */
  readonly edited: BoundedMap<string, true>;
}

/** The state and the ports of one account. */
export interface Bot {
  readonly api: Api;
  readonly config: DiscordConfig;
  readonly host: ChannelHost;
  readonly places: Places;
  readonly directs: DirectChats;
  /** Known once Discord was reached. */
  readonly self: { known: Self | undefined };
  /** Ids of the bot's messages, by nonce. */
  readonly nonces: BoundedMap<string, string>;
  readonly known: KnownMessages;
  readonly threads: Threads;
  /** Commands of Discord's menu that wait for their answer, by the keys of their events. */
  readonly deferred: BoundedMap<string, DeferredReply>;
  /** The bot's reactions, by message. */
  readonly reactions: BoundedMap<string, string>;
  /** Aborted when the channel stops. */
  readonly signal: AbortSignal;
}

/** The same account, of which a lookup is as if Discord had refused it. */
export const unasking = (bot: Bot): Bot => ({
  ...bot,
  api: { ...bot.api, ask: async () => Promise.reject(new LeftOut("it is not asked any more")) },
});

export const selfId = (bot: Bot): string => bot.self.known?.id ?? "";

/** The account that reads an event, and when. */
export interface EventContext {
  readonly bot: Bot;
  /** The gateway session; part of the key of an event without an id. */
  readonly session: string;
  readonly now: number;
}
