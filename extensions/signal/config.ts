import { about, channelId, milliseconds, readAccounts } from "openclaw/plugin-sdk";
import { z } from "zod";

export const SIGNAL = channelId("signal");

const NUMBER = /^\+\d{5,15}$/;
const ACCOUNT_ID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/;
const isAccount = (text: string): boolean => NUMBER.test(text) || ACCOUNT_ID.test(text);

/** The adapter's own keys under `channels.signal` and its accounts; the keys that every channel has belong to the core. */
export const signalConfig = z.looseObject({
  enabled: z.boolean().default(true).meta(about("Enabled", "Starts the account.")),
  account: z
    .string()
    .refine(isAccount, "a phone number with its country code, such as +15551234567, or an account id of Signal")
    .optional()
    .meta(about("Account", "The bot's number with its country code, as signal-cli knows it.", "+15551234567")),
  accountUuid: z
    .string()
    .regex(ACCOUNT_ID)
    .optional()
    .meta(about("Account id", "The bot's id in Signal, by which groups mention it; asked for when unset.")),
  httpUrl: z
    .url({ protocol: /^https?$/ })
    .transform((url) => url.replace(/\/+$/, ""))
    .optional()
    .meta(about("HTTP address", "Of a running `signal-cli daemon --http`; when unset, the gateway starts its own.")),
  httpHost: z.string().default("127.0.0.1").meta(about("HTTP host", "Where an own signal-cli listens.")),
  httpPort: z
    .int()
    .min(1)
    .max(65_535)
    .optional()
    .meta(about("HTTP port", "Where an own signal-cli listens; a free port when unset.")),
  cliPath: z.string().min(1).default("signal-cli").meta(about("Command", "The signal-cli program.")),
  autoStart: z
    .boolean()
    .optional()
    .meta(about("Start", "Starts and watches signal-cli; when unset, where `httpUrl` is unset.")),
  startupTimeoutMs: milliseconds
    .min(1000)
    .max(120_000)
    .default(30_000)
    .meta(about("Start timeout", "Milliseconds that an own signal-cli may take until it answers.")),
  receiveMode: z
    .enum(["on-start", "manual"])
    .default("manual")
    .meta(
      about(
        "Receive",
        "`manual`: an own signal-cli fetches messages only while the gateway listens; `on-start`: always.",
      ),
    ),
  ignoreAttachments: z.boolean().default(false).meta(about("Ignore files", "Loads no files that people send.")),
  ignoreStories: z
    .boolean()
    .default(true)
    .meta(about("Ignore stories", "Fetches no stories; they are never answered.")),
  sendReadReceipts: z
    .boolean()
    .default(false)
    .meta(about("Read receipts", "Shows senders, strangers too, that their message was taken in.")),
  selfChatMode: z
    .boolean()
    .default(false)
    .meta(about("Note to self", "Answers what the account's owner writes to themself on another device.")),
  mediaMaxMb: z.number().positive().max(100).default(100).meta(about("Media limit", "Megabytes of one file.")),
  timeoutSeconds: z.int().min(1).default(60).meta(about("Timeout", "Seconds that one call to signal-cli may take.")),
  stallThresholdMs: milliseconds
    .min(1000)
    .default(45_000)
    .meta(
      about("Stall threshold", "Events are asked for anew after so many milliseconds without a sign of signal-cli."),
    ),
});
export type SignalConfig = z.output<typeof signalConfig>;

/** Whether signal-cli is the gateway's own child. */
export const isOwn = (config: SignalConfig): boolean => config.autoStart ?? config.httpUrl === undefined;

/** The accounts of a `channels.signal` section. Throws a `ZodError` when an account does not fit. */
export const signalAccounts = (section: Readonly<Record<string, unknown>>) => readAccounts(section, signalConfig);
