import type { BoundedMap, ChannelHost } from "openclaw/plugin-sdk";
import type { SignalConfig } from "./config.ts";
import type { Notices } from "./inbound/notices.ts";
import type { Person } from "./people.ts";
import type { Daemon } from "./rpc.ts";

/** What the parts of one connection share. */
export interface Account {
  readonly config: SignalConfig;
  readonly host: ChannelHost;
  readonly daemon: Daemon;
  /** Aborted when the link closes. */
  readonly signal: AbortSignal;
  /** Names of people by id and by number. */
  readonly names: BoundedMap<string, string>;
  /** Texts of messages by their id, to be quoted. */
  readonly texts: BoundedMap<string, string>;
  /** What the operator has to see to. */
  readonly notices: Notices;
  /** Resolves when signal-cli can be asked; starts it where it is ours. Throws `Trouble` or `OpenClawError`. */
  ready(): Promise<void>;
  /** Who we are, as soon as signal-cli said it. */
  self: Person | undefined;
}
