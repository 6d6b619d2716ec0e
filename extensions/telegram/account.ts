import type { ChannelHost } from "openclaw/plugin-sdk";
import type { Bot } from "./api.ts";
import type { TelegramConfig } from "./config.ts";
import type { Forums } from "./receive/forums.ts";
import type { Moves } from "./receive/moves.ts";
import type { OwnMessages } from "./own-messages.ts";
import type { Posts } from "./receive/posts.ts";

/** What the parts of one account share. */
export interface Account {
  readonly bot: Bot;
  readonly config: TelegramConfig;
  readonly host: ChannelHost;
  readonly moves: Moves;
  readonly own: OwnMessages;
  readonly forums: Forums;
  readonly posts: Posts;
}
