import { about, channelId, milliseconds, readAccounts, secretField } from "openclaw/plugin-sdk";
import { z } from "zod";

export const SLACK = channelId("slack");

const socketMode = z.looseObject({
  serverPingTimeout: milliseconds
    .min(1000)
    .default(30_000)
    .meta(about("Silence", "A socket on which nothing came for so many milliseconds is opened anew.")),
});

const thread = z.looseObject({
  historyScope: z
    .enum(["thread", "channel"])
    .default("thread")
    .meta(
      about(
        "Conversation of a thread",
        "`thread`: each thread has its own. `channel`: threads share that of their channel; answers go into the thread still.",
      ),
    ),
  inheritParent: z
    .boolean()
    .default(false)
    .meta(
      about(
        "Inherit from the channel",
        "Tells a new thread with a conversation of its own what was said in the channel before, up to `initialHistoryLimit` lines.",
      ),
    ),
  initialHistoryLimit: z
    .int()
    .min(0)
    .max(200)
    .default(20)
    .meta(about("Earlier messages", "Lines of a thread that are told when the bot is first named in it.")),
  requireExplicitMention: z
    .boolean()
    .default(false)
    .meta(about("Require mention in threads", "Asks for a mention even in threads in which the bot has written.")),
});

const slashCommand = z.looseObject({
  enabled: z.boolean().default(false).meta(about("Enabled", "Takes the slash command of the app.")),
  name: z
    .string()
    .transform((name) => name.replace(/^\//, ""))
    .default("openclaw")
    .meta(about("Name", "The command as the app declares it, without its slash.")),
});

/** The adapter's own keys under `channels.slack` and its accounts; the keys that every channel has belong to the core. */
export const slackConfig = z.looseObject({
  enabled: z.boolean().default(true).meta(about("Enabled", "Starts the account.")),
  mode: z
    .enum(["socket", "http"])
    .default("socket")
    .meta(about("Mode", "`socket` needs no public address; `http` takes Slack's requests at `webhookPath`.")),
  botToken: secretField.optional().meta(about("Bot token", "Begins with `xoxb-`.")),
  appToken: secretField
    .optional()
    .meta(about("App token", "Begins with `xapp-`; needs `connections:write`. For `mode: socket`.")),
  signingSecret: secretField
    .optional()
    .meta(about("Signing secret", "Proves that a request comes from Slack. For `mode: http`.")),
  webhookPath: z
    .string()
    .startsWith("/")
    .default("/slack/events")
    .meta(about("Webhook path", "Where Slack sends events, commands and pressed buttons. For `mode: http`.")),
  apiUrl: z
    .url({ protocol: /^https?$/ })
    .transform((url) => url.replace(/\/*$/, "/"))
    .default("https://slack.com/api/")
    .meta(about("API address", "Address of Slack's Web API.")),
  timeoutSeconds: z.int().min(1).max(600).default(30).meta(about("Timeout", "Seconds that one call may take.")),
  socketMode: socketMode.prefault({}).meta(about("Socket", "The connection of `mode: socket`.")),
  thread: thread.prefault({}).meta(about("Threads", "What is told of threads.")),
  slashCommand: slashCommand.prefault({}).meta(about("Slash command", "A command of the app, taken as a message.")),
  typingReaction: z
    .string()
    .optional()
    .meta(about("Typing reaction", "An emoji's name, put under the message that is being answered.")),
  unfurlLinks: z.boolean().default(false).meta(about("Unfurl links", "Shows previews of linked pages.")),
  unfurlMedia: z
    .boolean()
    .default(false)
    .meta(about("Unfurl media", "Shows linked pictures and films; Slack fetches them though nobody opens the link.")),
  mediaMaxMb: z.number().positive().max(1000).default(20).meta(about("Media limit", "Megabytes of one file.")),
});
export type SlackConfig = z.output<typeof slackConfig>;

/** The accounts of a `channels.slack` section. Throws a `ZodError` when an account does not fit. */
export const slackAccounts = (section: Readonly<Record<string, unknown>>) => readAccounts(section, slackConfig);
