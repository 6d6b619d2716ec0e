import type { ChannelHost } from "openclaw/plugin-sdk";
import type { Self, Slack } from "../transport/api.ts";
import type { ChannelIds } from "../channel-ids.ts";
import type { SlackConfig } from "../config.ts";
import type { Reactions } from "../inbound/reactions.ts";
import type { Streams } from "./streams.ts";
import type { Threads } from "../inbound/threads.ts";
import type { PendingUploads } from "./uploads.ts";

/** Parts that the functions of one account share. */
export interface AccountContext {
  readonly slack: Slack;
  readonly config: SlackConfig;
  readonly host: ChannelHost;
  readonly channelIds: ChannelIds;
  readonly reactions: Reactions;
  readonly streams: Streams;
  readonly uploads: PendingUploads;
  /** Chats that Slack refused to show when missed messages were requested. Each is logged once. */
  readonly unreadable: Set<string>;
  /** Undefined until the identity of the bot is known. */
  self(): Self | undefined;
  threads(): Pick<Threads, "join" | "noteOwnMessage"> | undefined;
}
