import { about, channelId, milliseconds, readAccounts, secretField } from "openclaw/plugin-sdk";
import { z } from "zod";

export const DISCORD = channelId("discord");

const httpUrl = z.url({ protocol: /^https?$/ }).transform((url) => url.replace(/\/+$/, ""));

/** The adapter's own keys under `channels.discord` and its accounts; the keys that every channel has belong to the core. */
export const discordConfig = z.looseObject({
  enabled: z.boolean().default(true).meta(about("Enabled", "Starts the account.")),
  token: secretField.optional().meta(about("Bot token", "From the page Bot of the Discord developer portal.")),
  applicationId: z
    .string()
    .optional()
    .meta(about("Application id", "Asked of Discord when unset; needed for native commands.")),
  apiUrl: httpUrl
    .default("https://discord.com/api")
    .meta(about("API URL", "Address of Discord's REST API, without the version.")),
  gatewayUrl: z
    .url({ protocol: /^wss?$/ })
    .optional()
    .meta(about("Gateway URL", "Address of the gateway's WebSocket; Discord names one when unset.")),
  cdnUrl: httpUrl
    .optional()
    .meta(about("CDN URL", "Where files lie, for a server of your own; it may have a private address.")),
  mediaMaxMb: z.number().positive().max(500).default(50).meta(about("Media limit", "Megabytes of one file.")),
  timeoutSeconds: z.int().min(1).default(60).meta(about("Timeout", "Seconds that one call may take.")),
  gatewayReadyTimeoutMs: milliseconds
    .min(1000)
    .default(30_000)
    .meta(about("Ready timeout", "A gateway connection that is not ready after so many milliseconds is begun anew.")),
  suppressEmbeds: z
    .boolean()
    .default(true)
    .meta(
      about(
        "Suppress embeds",
        "Shows no previews of links; Discord fetches a page for one though nobody opens the link.",
      ),
    ),
  commands: z
    .looseObject({
      native: z
        .union([z.boolean(), z.literal("auto")])
        .default("auto")
        .meta(about("Native", "Puts the gateway's commands into Discord's own menu; `auto` means yes.")),
    })
    .prefault({})
    .meta(about("Commands", "The command menu.")),
});
export type DiscordConfig = z.output<typeof discordConfig>;

/** The accounts of a `channels.discord` section. Throws a `ZodError` when an account does not fit. */
export const discordAccounts = (section: Readonly<Record<string, unknown>>) => readAccounts(section, discordConfig);
