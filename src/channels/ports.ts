import type { ChannelAdapter, MenuCommand, WebhookAnswer, WebhookRequest } from "../types/chat/channel.ts";
import type { Clock } from "../types/clock.ts";
import type { AccountId, ChannelId } from "../types/ids.ts";
import type { KeyValue, MediaStore } from "../types/journal.ts";
import type { Log } from "../types/log.ts";
import type { InboundMessage } from "../types/chat/message.ts";

/** An account with its settings; `config` is the output of the adapter's schema. */
export interface ConfiguredAccount {
  readonly adapter: ChannelAdapter;
  readonly account: AccountId;
  readonly config: unknown;
  /** False: the account is listed but not started. */
  readonly enabled: boolean;
  /** True: the account's settings are written under `accounts` of the channel. */
  readonly isNamed?: boolean;
  /** Why the account is not started, and the step to take. */
  readonly stopped?: { readonly reason: string; readonly fix: string };
}

/** A library that a channel needs. */
export interface LibraryRequest {
  readonly channel: string;
  /** The package's name on npm. */
  readonly name: string;
  readonly signal: AbortSignal;
  /** Called with a text for people when the library has to be fetched first. */
  readonly fetching?: (activity: string) => void;
}

export interface ChannelPorts {
  /** Resolves when the messages are durable. */
  receive(messages: readonly InboundMessage[]): Promise<void>;
  /** Called when an account has a link, through which it can send. */
  linked?(channel: ChannelId, account: AccountId): void;
  readonly media: Pick<MediaStore, "read">;
  readonly log: Log;
  readonly clock: Clock;
  /** The journal's small values, for the notes of accounts. */
  readonly values: KeyValue;
  /** Creates the private folder of an account. Without it, an adapter that needs one fails with an error that says so. */
  readonly folder?: (channel: ChannelId, account: AccountId) => Promise<string>;
  /** The address of a channel's library, which is fetched when it is missing. Without it, an adapter that needs one fails likewise. */
  readonly library?: (wish: LibraryRequest) => Promise<string>;
  /** Passes requests of the gateway's HTTP server to an adapter until the signal aborts. */
  readonly serve?: (
    path: string,
    answer: (request: WebhookRequest) => Promise<WebhookAnswer>,
    signal: AbortSignal,
  ) => void;
  /** The commands for the platforms' menus. */
  readonly commands?: readonly MenuCommand[];
}
