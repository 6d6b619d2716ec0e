import type { ChannelAdapter } from "openclaw/plugin-sdk";
import { DISCORD, discordConfig } from "./config.ts";
import type { DiscordConfig } from "./config.ts";

export { discordAccounts, discordConfig } from "./config.ts";
export type { DiscordConfig } from "./config.ts";

/** Discord over its gateway and REST API. What speaks to them is loaded with the first connection. */
export const discord: ChannelAdapter<DiscordConfig> = {
  id: DISCORD,
  label: "Discord",
  // What a bot may write; longer messages than some seventeen lines are folded up. Five edits in five seconds earn a 429.
  limits: {
    text: 2000,
    format: "discord",
    media: 50 * 1_048_576,
    lines: 17,
    editEveryMs: 1200,
    // Text and files are one message; a call that makes one may bring ten files and 25 MB.
    caption: { text: 2000 },
    album: { files: 10, bytes: 25_000_000 },
    silent: true,
  },
  config: discordConfig,
  async connect(config, host) {
    const { connect } = await import("./connect.ts");
    return connect(config, host);
  },
  async probe(config, signal) {
    const { askName } = await import("./connect.ts");
    return askName(config, signal);
  },
};
