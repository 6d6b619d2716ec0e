import { about, accountId, accountInputs, channelId, milliseconds, secretField } from "openclaw/plugin-sdk";
import type { AccountId } from "openclaw/plugin-sdk";
import { z } from "zod";

export const TELEGRAM = channelId("telegram");

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
  linkPreview: z.boolean().default(true).meta(about("Link preview", "Shows a preview below messages with links.")),
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
export function telegramAccounts(
  section: Readonly<Record<string, unknown>>,
): readonly { account: AccountId; config: TelegramConfig }[] {
  return accountInputs(section).map(({ id, input }) => ({
    account: accountId(id),
    config: telegramConfig.parse(input),
  }));
}
