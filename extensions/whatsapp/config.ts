import { about, channelId, milliseconds, readAccounts } from "openclaw/plugin-sdk";
import { z } from "zod";

export const WHATSAPP = channelId("whatsapp");

/** The adapter's own keys under `channels.whatsapp` and its accounts; the keys that every channel has belong to the core. */
export const whatsappConfig = z.looseObject({
  enabled: z.boolean().default(true).meta(about("Enabled", "Starts the account.")),
  sendReadReceipts: z
    .boolean()
    .default(true)
    .meta(about("Read receipts", "Marks a chat as read when the gateway begins to answer in it.")),
  selfChatMode: z
    .boolean()
    .default(false)
    .meta(
      about(
        "Own chat",
        "Answers messages that the linked number sends to itself, for a gateway on your own number. Add the number to `allowFrom`.",
      ),
    ),
  mediaGroupFlushMs: milliseconds
    .min(10)
    .max(60_000)
    .default(10_000)
    .meta(
      about("Album wait", "Milliseconds without a further file after which an album that lacks some is passed on."),
    ),
  mediaMaxMb: z.number().positive().max(100).default(50).meta(about("Media limit", "Most megabytes of one file.")),
  waWebSocketUrl: z
    .url({ protocol: /^wss?$/ })
    .default("wss://web.whatsapp.com/ws/chat")
    .meta(about("Web socket URL", "Address of WhatsApp's multi-device server.")),
  mediaUrl: z
    .url({ protocol: /^https?$/ })
    .transform((url) => url.replace(/\/+$/, ""))
    .default("https://mmg.whatsapp.net")
    .meta(about("Media URL", "Address from which files of messages are fetched.")),
  waVersion: z
    .string()
    .regex(/^\d+\.\d+\.\d+$/)
    .optional()
    .meta(about("Version", "Version of WhatsApp Web that the gateway reports, if WhatsApp refuses the built-in one.")),
  connectTimeoutMs: milliseconds
    .min(1000)
    .default(20_000)
    .meta(about("Connect timeout", "Milliseconds within which a connection must be open.")),
  keepAliveMs: milliseconds
    .min(1000)
    .default(25_000)
    .meta(
      about(
        "Keep-alive",
        "Milliseconds between two keep-alive requests; 5 s more without an answer end the connection.",
      ),
    ),
});
export type WhatsAppConfig = z.output<typeof whatsappConfig>;

/** The accounts of a `channels.whatsapp` section. Throws a `ZodError` when an account does not fit. */
export const whatsappAccounts = (section: Readonly<Record<string, unknown>>) => readAccounts(section, whatsappConfig);
