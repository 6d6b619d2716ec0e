import type { BoundedMap, ChannelHost, InboundMessage, Peer } from "openclaw/plugin-sdk";
import type { SignalConfig } from "./config.ts";
import type { EventStream } from "./event-stream.ts";
import type { Notices } from "./notices.ts";
import type { Person } from "./people.ts";
import type { Daemon } from "./rpc.ts";

/** A connected account: its settings, its signal-cli and the facts about people and messages. */
export interface Account {
  readonly config: SignalConfig;
  readonly host: ChannelHost;
  readonly daemon: Daemon;
  /** Aborted when the link closes. */
  readonly signal: AbortSignal;
  /** Names of people, by id and by number. */
  readonly names: BoundedMap<string, string>;
  /** Messages by `seenKey`, for quotes. */
  readonly seen: BoundedMap<string, SeenMessage>;
  /** Problems that the operator should solve. */
  readonly notices: Notices;
  /** Resolves when signal-cli answers; starts the gateway's own. Throws `Trouble` or `OpenClawError`. */
  ready(): Promise<void>;
  /** The latest answer to a request for events. */
  stream: EventStream | undefined;
  /** The account's own identity, once known. */
  self: Person | undefined;
}

/** Parts of a message that a quote needs. */
type SeenMessage = Pick<InboundMessage, "text" | "media">;

/** A quote shows nothing of another chat: a model may name any message. */
export const seenKey = ({ chat }: Peer, messageId: string): string => `${chat.id}\n${messageId}`;
