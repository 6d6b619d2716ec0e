import type { ChannelAdapter } from "openclaw/plugin-sdk";
import { SLACK, slackConfig } from "./config.ts";
import type { SlackConfig } from "./config.ts";
import { BUTTON_LIMITS } from "./buttons.ts";

export { slackAccounts, slackConfig } from "./config.ts";
export type { SlackConfig } from "./config.ts";

/** Slack over Socket Mode or the Events API. Its Web API client is loaded with the first connection. */
export const slack: ChannelAdapter<SlackConfig> = {
  id: SLACK,
  label: "Slack",
  // docs.slack.dev: chat.update takes 4,000 characters and is limited to about 50 calls a minute.
  limits: {
    text: 4000,
    format: "slack-mrkdwn",
    media: 1000 * 1_048_576,
    editEveryMs: 1200,
    // files.completeUploadExternal shares several files with one text, which is a message's like any other.
    caption: { text: 4000 },
    album: { files: 10 },
  },
  config: slackConfig,
  buttons: () => BUTTON_LIMITS,
  async connect(config, host) {
    const { connect } = await import("./connect.ts");
    return connect(config, host);
  },
  async probe(config, signal) {
    const { probeAccount } = await import("./probe.ts");
    return probeAccount(config, signal);
  },
};
