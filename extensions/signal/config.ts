import { about, channelId, milliseconds, ofLogin, readAccounts } from "openclaw/plugin-sdk";
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
    .meta(ofLogin(about("Account", "The bot's number with its country code, as signal-cli knows it.", "+15551234567"))),
  accountUuid: z
    .string()
    .regex(ACCOUNT_ID)
    .optional()
    .meta(
      about(
        "Account id",
        "The bot's id in Signal, which mentions in groups use; the gateway asks signal-cli when unset.",
      ),
    ),
  httpUrl: z
    .url({ protocol: /^https?$/ })
    .transform((url) => url.replace(/\/+$/, ""))
    .optional()
    .meta(
      about("HTTP address", "Address of a running `signal-cli daemon --http`. When unset, the gateway starts its own."),
    ),
  httpHost: z
    .string()
    .default("127.0.0.1")
    .meta(about("HTTP host", "Address on which the gateway's own signal-cli listens.")),
  httpPort: z
    .int()
    .min(1)
    .max(65_535)
    .optional()
    .meta(about("HTTP port", "Port on which the gateway's own signal-cli listens; a free port when unset.")),
  cliPath: z.string().min(1).default("signal-cli").meta(about("Command", "The signal-cli program.")),
  autoStart: z
    .boolean()
    .optional()
    .meta(about("Start", "Starts and watches signal-cli. When unset, true unless `httpUrl` is set.")),
  startupTimeoutMs: milliseconds
    .min(1000)
    .max(120_000)
    .default(30_000)
    .meta(about("Start timeout", "Milliseconds within which the gateway's own signal-cli must answer.")),
  receiveMode: z
    .enum(["on-start", "manual"])
    .default("manual")
    .meta(
      about(
        "Receive",
        "When the gateway's own signal-cli fetches messages. `manual`: only while the gateway listens. `on-start`: always.",
      ),
    ),
  ignoreAttachments: z.boolean().default(false).meta(about("Ignore files", "Does not fetch files that people send.")),
  ignoreStories: z
    .boolean()
    .default(true)
    .meta(about("Ignore stories", "Does not fetch stories, which are never answered.")),
  sendReadReceipts: z
    .boolean()
    .default(false)
    .meta(about("Read receipts", "Shows senders, including strangers, that their message was received.")),
  selfChatMode: z
    .boolean()
    .default(false)
    .meta(
      about("Note to self", "Answers messages that the account's owner sends to their own account (Note to Self)."),
    ),
  mediaMaxMb: z.number().positive().max(100).default(100).meta(about("Media limit", "Most megabytes of one file.")),
  timeoutSeconds: z.int().min(1).default(60).meta(about("Timeout", "Most seconds of one call to signal-cli.")),
  stallThresholdMs: milliseconds
    .min(1000)
    .default(45_000)
    .meta(
      about(
        "Stall threshold",
        "Milliseconds without a sign of life of signal-cli after which the event stream is opened anew.",
      ),
    ),
});
export type SignalConfig = z.output<typeof signalConfig>;

/** Whether the gateway starts signal-cli itself. */
export const startsDaemon = (config: SignalConfig): boolean => config.autoStart ?? config.httpUrl === undefined;

/** The accounts of a `channels.signal` section. Throws a `ZodError` when an account does not fit. */
export const signalAccounts = (section: Readonly<Record<string, unknown>>) => readAccounts(section, signalConfig);
