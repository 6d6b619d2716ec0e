import type { ChannelHost } from "openclaw/plugin-sdk";
import type { Api, Self } from "./api.ts";
import type { DiscordConfig } from "./config.ts";
import type { Directs } from "./directs.ts";
import type { Places } from "./inbound/places.ts";
import type { Recent } from "./recent.ts";

/** A command of Discord's menu, shown as "thinking…" until its answer is put in. */
export interface Slot {
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
export interface Room {
  readonly api: Api;
  readonly config: DiscordConfig;
  readonly host: ChannelHost;
  readonly places: Places;
  readonly directs: Directs;
  /** Known once Discord was reached. */
  readonly self: { known: Self | undefined };
  /** Messages of ours, by nonce. */
  readonly nonces: Recent<string>;
  /** Ids of messages of ours. */
  readonly own: Recent<true>;
  /** First messages of threads, by the thread's id; empty where there is none. */
  readonly starters: Recent<string>;
  /** Commands of Discord's menu that wait for their answer, by the id of their interaction. */
  readonly slots: Recent<Slot>;
  /** Our reactions, by message. */
  readonly reactions: Recent<string>;
  /** Aborted when the channel stops. */
  readonly signal: AbortSignal;
}

export const selfId = (room: Room): string => room.self.known?.id ?? "";

/** Whose eyes read an event, and when. */
export interface View {
  readonly room: Room;
  /** The gateway session, for the keys of events that Discord gives no id. */
  readonly session: string;
  readonly now: number;
}
