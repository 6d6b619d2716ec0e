import type { ChannelAdapter, MenuCommand, WebhookAnswer, WebhookRequest } from "../types/chat/channel.ts";
import type { Clock } from "../types/clock.ts";
import type { AccountId, ChannelId } from "../types/ids.ts";
import type { KeyValue, MediaStore } from "../types/journal.ts";
import type { Log } from "../types/log.ts";
import type { InboundMessage } from "../types/chat/message.ts";

/** An account as it is to run; `config` is what the adapter's schema gave. */
export interface ConfiguredAccount {
  readonly adapter: ChannelAdapter;
  readonly account: AccountId;
  readonly config: unknown;
  /** False: known, not started. */
  readonly enabled: boolean;
  /** True: its settings stand below `accounts` of the channel. */
  readonly isNamed?: boolean;
  /** Why it is not started, and what to do about it. */
  readonly stopped?: { readonly reason: string; readonly fix: string };
}

/** A library that a channel asks for. */
export interface LibraryRequest {
  readonly channel: string;
  /** Of the package, as npm knows it. */
  readonly name: string;
  readonly signal: AbortSignal;
  /** Is told when the library has to be fetched first, in words for a person. */
  readonly fetching?: (words: string) => void;
}

export interface ChannelPorts {
  /** Resolves when the messages are durable. */
  receive(messages: readonly InboundMessage[]): Promise<void>;
  readonly media: Pick<MediaStore, "read">;
  readonly log: Log;
  readonly clock: Clock;
  /** The journal's small values, for what accounts note. */
  readonly values: KeyValue;
  /** Makes the private folder of an account. Without it, adapters that need one say so. */
  readonly folder?: (channel: ChannelId, account: AccountId) => Promise<string>;
  /** The address of a channel's library, fetched where it is not there yet. Without it, adapters that need one say so. */
  readonly library?: (wish: LibraryRequest) => Promise<string>;
  /** Gives requests of the gateway's HTTP server to an adapter until the signal aborts. */
  readonly serve?: (
    path: string,
    answer: (request: WebhookRequest) => Promise<WebhookAnswer>,
    signal: AbortSignal,
  ) => void;
  /** For the menus of the platforms. */
  readonly commands?: readonly MenuCommand[];
}
