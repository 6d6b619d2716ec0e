import type { ChannelHost } from "openclaw/plugin-sdk";
import type { BotApi } from "./api.ts";
import type { TelegramConfig } from "./config.ts";
import type { Forums } from "./forums.ts";
import type { GroupMigrations } from "./migrations.ts";
import type { OwnMessages } from "./own-messages.ts";
import type { Posts } from "./posts.ts";

/** A connected account: its settings, its bot and the facts about its chats. */
export interface Account {
  readonly bot: BotApi;
  readonly config: TelegramConfig;
  readonly host: ChannelHost;
  readonly migrations: GroupMigrations;
  readonly own: OwnMessages;
  readonly forums: Forums;
  readonly posts: Posts;
}
