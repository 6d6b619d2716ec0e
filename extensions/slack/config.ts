import { about, channelId, historyScope, milliseconds, ofLogin, readAccounts, secretField } from "openclaw/plugin-sdk";
import { z } from "zod";

export const SLACK = channelId("slack");

const socketMode = z.looseObject({
  serverPingTimeout: milliseconds
    .min(1000)
    .default(30_000)
    .meta(about("Silence", "Milliseconds without data after which the socket is opened anew.")),
});

const thread = z.looseObject({
  historyScope,
  inheritParent: z
    .boolean()
    .default(false)
    .meta(
      about(
        "Inherit from the channel",
        "Shows a new thread that has its own conversation the last messages of the channel, up to `initialHistoryLimit` lines.",
      ),
    ),
  initialHistoryLimit: z
    .int()
    .min(0)
    .max(200)
    .default(20)
    .meta(
      about(
        "Earlier messages",
        "Number of earlier messages of a thread that the model sees when the bot is first mentioned in it.",
      ),
    ),
  requireExplicitMention: z
    .boolean()
    .default(false)
    .meta(about("Require mention in threads", "Requires a mention even in threads in which the bot has written.")),
});

const slashCommand = z.looseObject({
  enabled: z.boolean().default(false).meta(about("Enabled", "Accepts the app's slash command.")),
  name: z
    .string()
    .transform((name) => name.replace(/^\//, ""))
    .default("openclaw")
    .meta(about("Name", "Name of the command as the app declares it, without the slash.")),
  ephemeral: z
    .boolean()
    .default(false)
    .meta(
      about(
        "Private answers",
        "Answers commands given in channels in the direct chat with whoever gave them, never there.",
      ),
    ),
});

/** The adapter's own keys under `channels.slack` and its accounts; the keys that every channel has belong to the core. */
export const slackConfig = z.looseObject({
  enabled: z.boolean().default(true).meta(about("Enabled", "Starts the account.")),
  mode: z
    .enum(["socket", "http", "relay"])
    .default("socket")
    .meta(
      about(
        "Mode",
        "`socket` needs no public address; `http` receives Slack's requests at `webhookPath`. `relay` is known from OpenClaw and stops the account.",
      ),
    ),
  botToken: secretField.optional().meta(ofLogin(about("Bot token", "Bot token; begins with `xoxb-`."))),
  appToken: secretField
    .optional()
    .meta(about("App token", "App token for `mode: socket`; begins with `xapp-` and needs `connections:write`.")),
  signingSecret: secretField
    .optional()
    .meta(about("Signing secret", "Secret by which the gateway recognises Slack's requests, for `mode: http`.")),
  webhookPath: z
    .string()
    .startsWith("/")
    .default("/slack/events")
    .meta(about("Webhook path", "Path to which Slack sends events, commands and pressed buttons, for `mode: http`.")),
  apiUrl: z
    .url({ protocol: /^https?$/ })
    .transform((url) => url.replace(/\/*$/, "/"))
    .default("https://slack.com/api/")
    .meta(ofLogin(about("API address", "Address of Slack's Web API."), "server")),
  timeoutSeconds: z.int().min(1).max(600).default(30).meta(about("Timeout", "Most seconds of one call.")),
  socketMode: socketMode.prefault({}).meta(about("Socket", "The connection of `mode: socket`.")),
  thread: thread.prefault({}).meta(about("Threads", "Threads.")),
  slashCommand: slashCommand
    .prefault({})
    .meta(about("Slash command", "Slash command of the app; its text becomes a message.")),
  typingReaction: z
    .string()
    .optional()
    .meta(about("Typing reaction", "Name of an emoji that is put under the message while it is answered.")),
  unfurlLinks: z.boolean().default(false).meta(about("Unfurl links", "Shows previews of linked pages.")),
  unfurlMedia: z
    .boolean()
    .default(false)
    .meta(about("Unfurl media", "Shows linked pictures and films. Slack fetches them even if nobody opens the link.")),
  mediaMaxMb: z.number().positive().max(1000).default(20).meta(about("Media limit", "Most megabytes of one file.")),
});
export type SlackConfig = z.output<typeof slackConfig>;

/** The accounts of a `channels.slack` section. Throws a `ZodError` when an account does not fit. */
export const slackAccounts = (section: Readonly<Record<string, unknown>>) => readAccounts(section, slackConfig);
