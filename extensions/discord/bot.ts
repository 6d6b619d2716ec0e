import type { ChannelHost } from "openclaw/plugin-sdk";
import type { Api, Self } from "./api.ts";
import type { DiscordConfig } from "./config.ts";
import type { DirectChats } from "./direct-chats.ts";
import type { Places } from "./inbound/places.ts";
import type { BoundedMap } from "./bounded-map.ts";

/** A command of Discord's menu, shown as "thinking…" until its answer is put in. */
export interface DeferredReply {
  readonly channel: string;
  /** Below this path lies the answer; it holds a token of its own. */
  readonly route: `/webhooks/${string}`;
  /** Epoch milliseconds. */
  readonly until: number;
  /** Whether Discord shows it; never rejects. */
  readonly isOpen: Promise<boolean>;
  /** The send that put its text in; it may do so again. */
  filledBy?: string;
}

/** What everything that one account does needs. */
export interface Bot {
  readonly api: Api;
  readonly config: DiscordConfig;
  readonly host: ChannelHost;
  readonly places: Places;
  readonly directs: DirectChats;
  /** Known once Discord was reached. */
  readonly self: { known: Self | undefined };
  /** Messages of ours, by nonce. */
  readonly nonces: BoundedMap<string>;
  /** Ids of messages of ours. */
  readonly own: BoundedMap<true>;
  /** First messages of threads, by the thread's id; empty where there is none. */
  readonly starters: BoundedMap<string>;
  /** Commands of Discord's menu that wait for their answer, by the id of their interaction. */
  readonly deferred: BoundedMap<DeferredReply>;
  /** Our reactions, by message. */
  readonly reactions: BoundedMap<string>;
  /** Aborted when the channel stops. */
  readonly signal: AbortSignal;
}

export const selfId = (bot: Bot): string => bot.self.known?.id ?? "";

/** Whose eyes read an event, and when. */
export interface EventContext {
  readonly bot: Bot;
  /** The gateway session, for the keys of events that Discord gives no id. */
  readonly session: string;
  readonly now: number;
}
