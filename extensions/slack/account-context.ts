import type { ChannelHost } from "openclaw/plugin-sdk";
import type { Self, Slack } from "./transport/api.ts";
import type { ChannelIds } from "./channel-ids.ts";
import type { SlackConfig } from "./config.ts";
import type { Reactions } from "./inbound/reactions.ts";
import type { Streams } from "./outbound/streams.ts";
import type { Threads } from "./inbound/threads.ts";
import type { Uploads } from "./outbound/uploads.ts";

/** What the calls of one account share. */
export interface AccountContext {
  readonly slack: Slack;
  readonly config: SlackConfig;
  readonly host: ChannelHost;
  readonly channelIds: ChannelIds;
  readonly reactions: Reactions;
  readonly streams: Streams;
  readonly uploads: Uploads;
  /** What Slack refused to show when it was asked for what was missed, as it was told once. */
  readonly unreadable: Set<string>;
  /** Undefined until Slack has told who the bot is. */
  self(): Self | undefined;
  threads(): Pick<Threads, "join" | "noteOwnMessage"> | undefined;
}
