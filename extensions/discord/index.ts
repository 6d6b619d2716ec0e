import type { ChannelAdapter } from "openclaw/plugin-sdk";
import { BUTTON_LIMITS } from "./button-limits.ts";
import { DISCORD, discordConfig } from "./config.ts";
import type { DiscordConfig } from "./config.ts";

export { discordAccounts, discordConfig } from "./config.ts";
export type { DiscordConfig } from "./config.ts";

/** Discord over its gateway and REST API. The first connection loads the libraries for them. */
export const discord: ChannelAdapter<DiscordConfig> = {
  id: DISCORD,
  label: "Discord",
  // Discord folds messages of more than about seventeen lines, and answers the fifth edit in five seconds with 429.
  limits: {
    text: 2000,
    format: "discord",
    media: 50 * 1_048_576,
    lines: 17,
    editEveryMs: 1200,
    // Text and files are one message, with at most ten files and 25 MB.
    caption: { text: 2000 },
    album: { files: 10, bytes: 25_000_000 },
    silent: true,
  },
  config: discordConfig,
  buttons: () => BUTTON_LIMITS,
  async connect(config, host) {
    const { connect } = await import("./connect.ts");
    return connect(config, host);
  },
  async probe(config, signal) {
    const { askName } = await import("./connect.ts");
    return askName(config, signal);
  },
};
