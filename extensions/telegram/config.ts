import { about, channelId, milliseconds, ofLogin, readAccounts, secretField } from "openclaw/plugin-sdk";
import { z } from "zod";

export const TELEGRAM = channelId("telegram");

const commandsConfig = z.looseObject({
  native: z
    .union([z.boolean(), z.literal("auto")])
    .default("auto")
    .meta(about("Native", "Shows the gateway's commands in Telegram's menu; false removes them.")),
});

const customCommand = z.looseObject({
  command: z
    .string()
    .transform((name) => name.replace(/^\//, "").replaceAll("-", "_").toLowerCase())
    .pipe(z.string().regex(/^[a-z0-9_]{1,32}$/))
    .meta(
      about("Command", "Name of the command, up to 32 letters, digits and underscores. The agent gets it as text."),
    ),
  description: z.string().min(1).max(256).meta(about("Description", "Description of the command in the menu.")),
});

const capabilitiesConfig = z.looseObject({
  inlineButtons: z
    .enum(["off", "dm", "group", "all", "allowlist"])
    .default("all")
    .meta(
      about(
        "Buttons",
        "Chats in which messages have buttons. `allowlist` means `all`, because the bot ignores everybody else.",
      ),
    ),
});

/** The adapter's own keys under `channels.telegram` and its accounts; the keys that every channel has belong to the core. */
export const telegramConfig = z.looseObject({
  enabled: z.boolean().default(true).meta(about("Enabled", "Starts the account.")),
  botToken: secretField.optional().meta(ofLogin(about("Bot token", "Bot token from @BotFather."))),
  tokenFile: z
    .string()
    .optional()
    .meta(ofLogin(about("Token file", "File with the bot token, used when `botToken` is unset."))),
  apiRoot: z
    .url({ protocol: /^https?$/ })
    .transform((url) => url.replace(/\/+$/, ""))
    .default("https://api.telegram.org")
    .meta(ofLogin(about("API root", "Address of a Bot API server."), "server")),
  trustedLocalFileRoots: z
    .array(z.string().startsWith("/"))
    .default([])
    .meta(about("Local file roots", "Folders from which files of a Bot API server with `--local` may be read.")),
  proxy: z
    .url({ protocol: /^(?:https?|socks5?)$/ })
    .optional()
    .meta(about("Proxy", "HTTP or SOCKS5 proxy for calls to Telegram.")),
  webhookUrl: z
    .url({ protocol: /^https?$/ })
    .optional()
    .meta(
      about("Webhook address", "Public address to which Telegram sends updates. When set, the gateway does not poll."),
    ),
  webhookSecret: secretField
    .optional()
    .meta(
      about(
        "Webhook secret",
        "Secret by which the gateway recognises Telegram's requests: 1 to 256 of `A-Z a-z 0-9 _ -`.",
      ),
    ),
  webhookPath: z
    .string()
    .startsWith("/")
    .default("/telegram-webhook")
    .meta(about("Webhook path", "Path on the gateway's port to which `webhookUrl` leads.")),
  webhookCertPath: z
    .string()
    .startsWith("/")
    .optional()
    .meta(about("Webhook certificate", "File with the public key of a self-signed certificate.")),
  linkPreview: z
    .boolean()
    .default(false)
    .meta(
      about(
        "Link preview",
        "Shows link previews below messages. Telegram fetches the page for a preview, so a link that a stranger made the model write can leak data even if nobody opens it.",
      ),
    ),
  commands: commandsConfig.prefault({}).meta(about("Commands", "Telegram's menu of commands.")),
  customCommands: z
    .array(customCommand)
    .default([])
    .meta(about("Own commands", "Additional commands in Telegram's menu.")),
  capabilities: capabilitiesConfig.prefault({}).meta(about("Capabilities", "Features of messages.")),
  edits: z
    .enum(["answer", "ignore"])
    .default("answer")
    .meta(about("Edits", "Treats a message that its sender edited as a new message.")),
  mediaGroupFlushMs: milliseconds
    .min(10)
    .max(60_000)
    .default(1000)
    .meta(about("Album wait", "Milliseconds without a further file after which an album is complete.")),
  mediaMaxMb: z
    .number()
    .positive()
    .max(2000)
    .default(20)
    .meta(about("Media limit", "Most megabytes of one file; the public Bot API offers 20.")),
  timeoutSeconds: z.int().min(1).default(60).meta(about("Timeout", "Most seconds of one call, except long polls.")),
  pollingStallThresholdMs: milliseconds
    .min(2000)
    .default(45_000)
    .meta(about("Stall threshold", "Milliseconds without an answer after which a poll is repeated.")),
  takeOverWebhook: z
    .boolean()
    .default(false)
    .meta(about("Take over webhook", "Removes a webhook that another program set for this bot.")),
});
export type TelegramConfig = z.output<typeof telegramConfig>;

/** The accounts of a `channels.telegram` section. Throws a `ZodError` when an account does not fit. */
export const telegramAccounts = (section: Readonly<Record<string, unknown>>) => readAccounts(section, telegramConfig);
