import { about, channelId, milliseconds, ofLogin, readAccounts, secretField } from "openclaw/plugin-sdk";
import { z } from "zod";

export const DISCORD = channelId("discord");

const httpUrl = z.url({ protocol: /^https?$/ }).transform((url) => url.replace(/\/+$/, ""));

/** The adapter's own keys under `channels.discord` and its accounts; the keys that every channel has belong to the core. */
export const discordConfig = z.looseObject({
  enabled: z.boolean().default(true).meta(about("Enabled", "Starts the account.")),
  token: secretField
    .optional()
    .meta(ofLogin(about("Bot token", "Bot token from the page Bot of the Discord developer portal."))),
  applicationId: z
    .string()
    .optional()
    .meta(
      about(
        "Application id",
        "Id of the Discord application, needed for native commands; the gateway asks Discord when unset.",
      ),
    ),
  apiUrl: httpUrl
    .default("https://discord.com/api")
    .meta(ofLogin(about("API URL", "Address of Discord's REST API, without the version."), "server")),
  gatewayUrl: z
    .url({ protocol: /^wss?$/ })
    .optional()
    .meta(about("Gateway URL", "Address of Discord's gateway WebSocket; Discord names one when unset.")),
  cdnUrl: httpUrl
    .optional()
    .meta(about("CDN URL", "Address of files, for your own server; it may be a private address.")),
  mediaMaxMb: z.number().positive().max(500).default(50).meta(about("Media limit", "Most megabytes of one file.")),
  timeoutSeconds: z.int().min(1).default(60).meta(about("Timeout", "Most seconds of one call.")),
  gatewayReadyTimeoutMs: milliseconds
    .min(1000)
    .default(30_000)
    .meta(
      about("Ready timeout", "Milliseconds within which a gateway connection must be ready; then a new one is opened."),
    ),
  suppressEmbeds: z
    .boolean()
    .default(true)
    .meta(
      about(
        "Suppress embeds",
        "Shows no link previews. Discord fetches a page for a preview even if nobody opens the link.",
      ),
    ),
  thread: z
    .looseObject({
      initialHistoryLimit: z
        .int()
        .min(0)
        .max(100)
        .default(20)
        .meta(
          about(
            "History of a thread",
            "Number of earlier messages of a thread that the model sees when the bot is first mentioned in it.",
          ),
        ),
    })
    .prefault({})
    .meta(about("Threads", "Conversations in threads and forum posts.")),
  slashCommand: z
    .looseObject({
      ephemeral: z
        .boolean()
        .default(false)
        .meta(
          about(
            "Private answers",
            "Shows the answers to commands of Discord's menu in servers only to whoever gave the command.",
          ),
        ),
    })
    .prefault({})
    .meta(about("Answers to commands", "How the commands of Discord's menu are answered.")),
  commands: z
    .looseObject({
      native: z
        .union([z.boolean(), z.literal("auto")])
        .default("auto")
        .meta(about("Native", "Puts the gateway's commands into Discord's menu; `auto` means true.")),
    })
    .prefault({})
    .meta(about("Commands", "Discord's command menu.")),
});
export type DiscordConfig = z.output<typeof discordConfig>;

/** The accounts of a `channels.discord` section. Throws a `ZodError` when an account does not fit. */
export const discordAccounts = (section: Readonly<Record<string, unknown>>) => readAccounts(section, discordConfig);
