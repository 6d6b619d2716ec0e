import type { Contributor, SetupFlag, SetupValues } from "openclaw/plugin-sdk";

const SLACK_PAGE = "Find it at api.slack.com/apps,";

const BOT_TOKEN = {
  key: "botToken",
  secret: { env: "SLACK_BOT_TOKEN" },
  shape: {
    pattern: /^xox(?:b|e\.xoxb)-/,
    what: "Slack's bot token begins with xoxb-",
    fix: `${SLACK_PAGE} under OAuth & Permissions.`,
  },
};

const FLAGS: readonly SetupFlag[] = [
  {
    ...BOT_TOKEN,
    name: "botToken",
    usage: "--bot-token <token>",
    about: "the bot token (xoxb-…)",
    label: "Bot token (xoxb-…)",
    isRequired: true,
  },
  { ...BOT_TOKEN, name: "token", usage: "--token <token>", about: "the same as --bot-token" },
  {
    name: "appToken",
    usage: "--app-token <token>",
    about: "the app token (xapp-…), for Socket Mode",
    key: "appToken",
    label: "App token (xapp-…), for Socket Mode",
    secret: { env: "SLACK_APP_TOKEN" },
    shape: {
      pattern: /^xapp-/,
      what: "Slack's app token begins with xapp-",
      fix: `${SLACK_PAGE} under Basic Information.`,
    },
  },
  {
    name: "secret",
    usage: "--secret <secret>",
    about: "the signing secret, for the Events API",
    key: "signingSecret",
    label: "Signing secret, for the Events API",
    secret: {},
    shape: {
      pattern: /^(?!xox|xapp-)/,
      what: "Slack's signing secret is not a token",
      fix: `${SLACK_PAGE} under Basic Information.`,
    },
  },
  {
    name: "tokenFile",
    usage: "--token-file <path>",
    about: "a file that contains the token",
    key: "botToken",
    label: "File with the token, on the gateway's machine",
    isFile: true,
  },
];

/** Registers Slack. */
export const contributor: Contributor = {
  id: "slack",
  register: (registry) =>
    registry.addChannel({
      id: "slack",
      label: "Slack",
      config: async () => (await import("./config.ts")).slackConfig,
      adapter: async () => (await import("./index.ts")).slack,
      setup: { flags: FLAGS, implied, missing },
    }),
};

/** Without an app token only the Events API is possible. */
const implied = ({ signingSecret, appToken, mode }: SetupValues): SetupValues =>
  signingSecret !== undefined && !appToken && mode === undefined ? { mode: "http" } : {};

function missing({ mode, botToken, appToken, signingSecret }: SetupValues) {
  if (!botToken) return { key: "botToken", message: "Slack needs a bot token.", fix: "Add --bot-token xoxb-…." };
  if (mode === "http" && !signingSecret) {
    const message = "Slack needs its signing secret for the Events API.";
    return { key: "signingSecret", message, fix: "Add --secret." };
  }
  if (mode === "http" || appToken) return undefined;
  return {
    key: "appToken",
    message: "Slack needs an app token for Socket Mode.",
    fix: "Add --app-token xapp-…, or --secret for the Events API.",
  };
}
