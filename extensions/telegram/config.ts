import { about, channelId, milliseconds, readAccounts, secretField } from "openclaw/plugin-sdk";
import { z } from "zod";

export const TELEGRAM = channelId("telegram");

const commandsConfig = z.looseObject({
  native: z
    .union([z.boolean(), z.literal("auto")])
    .default("auto")
    .meta(about("Native", "Shows the gateway's commands in Telegram's menu; false takes them out of it.")),
});

const customCommand = z.looseObject({
  command: z
    .string()
    .transform((name) => name.replace(/^\//, "").toLowerCase())
    .pipe(z.string().regex(/^[a-z0-9_]{1,32}$/))
    .meta(about("Command", "Up to 32 letters, digits and underscores; reaches the agent as it is.")),
  description: z.string().min(1).max(256).meta(about("Description", "What the menu says about it.")),
});

const capabilitiesConfig = z.looseObject({
  inlineButtons: z
    .enum(["off", "dm", "group", "all", "allowlist"])
    .default("all")
    .meta(about("Buttons", "Where messages have buttons; `allowlist` is `all`, for nobody else is heard.")),
});

/** The adapter's own keys under `channels.telegram` and its accounts; the keys that every channel has belong to the core. */
export const telegramConfig = z.looseObject({
  enabled: z.boolean().default(true).meta(about("Enabled", "Starts the account.")),
  botToken: secretField.optional().meta(about("Bot token", "From @BotFather.")),
  tokenFile: z
    .string()
    .optional()
    .meta(about("Token file", "A file that holds the bot token; used when `botToken` is unset.")),
  apiRoot: z
    .url({ protocol: /^https?$/ })
    .transform((url) => url.replace(/\/+$/, ""))
    .default("https://api.telegram.org")
    .meta(about("API root", "Address of a Bot API server.")),
  trustedLocalFileRoots: z
    .array(z.string().startsWith("/"))
    .default([])
    .meta(about("Local file roots", "Folders from which files of a Bot API server with `--local` may be read.")),
  proxy: z
    .url({ protocol: /^https?$/ })
    .optional()
    .meta(about("Proxy", "An HTTP proxy through which Telegram is reached.")),
  webhookUrl: z
    .url({ protocol: /^https?$/ })
    .optional()
    .meta(about("Webhook address", "Where Telegram sends updates; nothing is polled then.")),
  webhookSecret: secretField
    .optional()
    .meta(about("Webhook secret", "Proves that a request comes from Telegram: 1 to 256 of `A-Z a-z 0-9 _ -`.")),
  webhookPath: z
    .string()
    .startsWith("/")
    .default("/telegram-webhook")
    .meta(about("Webhook path", "The path of the gateway's own server that `webhookUrl` leads to.")),
  webhookCertPath: z
    .string()
    .startsWith("/")
    .optional()
    .meta(about("Webhook certificate", "A file with the public key of a certificate that nobody has signed.")),
  linkPreview: z
    .boolean()
    .default(false)
    .meta(
      about(
        "Link preview",
        "Shows a preview below messages with links. Telegram fetches the page for it: a link that a stranger talked the model into carries out what is in it, though nobody opens it.",
      ),
    ),
  commands: commandsConfig.prefault({}).meta(about("Commands", "Telegram's menu of commands.")),
  customCommands: z.array(customCommand).default([]).meta(about("Own commands", "More lines of that menu.")),
  capabilities: capabilitiesConfig.prefault({}).meta(about("Capabilities", "What messages may have.")),
  edits: z
    .enum(["answer", "ignore"])
    .default("answer")
    .meta(about("Edits", "Whether a message that somebody changed is taken as a new one.")),
  mediaGroupFlushMs: milliseconds
    .min(10)
    .max(60_000)
    .default(1000)
    .meta(about("Album wait", "An album is whole when nothing more of it came for so many milliseconds.")),
  mediaMaxMb: z
    .number()
    .positive()
    .max(2000)
    .default(20)
    .meta(about("Media limit", "Megabytes of one file; the public Bot API gives out 20.")),
  timeoutSeconds: z
    .int()
    .min(1)
    .default(60)
    .meta(about("Timeout", "Seconds that one call may take, long polls aside.")),
  pollingStallThresholdMs: milliseconds
    .min(2000)
    .default(45_000)
    .meta(about("Stall threshold", "A poll without an answer for so many milliseconds is begun anew.")),
  takeOverWebhook: z
    .boolean()
    .default(false)
    .meta(about("Take over webhook", "Removes a webhook that another program has set for this bot.")),
});
export type TelegramConfig = z.output<typeof telegramConfig>;

/** The accounts of a `channels.telegram` section. Throws a `ZodError` when an account does not fit. */
export const telegramAccounts = (section: Readonly<Record<string, unknown>>) => readAccounts(section, telegramConfig);
