import type { Update } from "grammy/types";
import { ender } from "../api.ts";
import type { Self } from "../api.ts";
import { failureOf } from "../send/failures.ts";
import { WEBHOOK_NOTE } from "./receiving.ts";
import type { Receiving } from "./receiving.ts";
import { isWebhook } from "../send/remedy.ts";
import type { Account } from "../account.ts";
import { ALLOWED_UPDATES } from "./updates.ts";

/** The most that Telegram gives at once, and the longest that we let it wait. */
const LIMIT = 100;
const POLL_SECONDS = 30;

/**
 * Each call asks for updates once, and throws what stood in the way. Asking from an offset acknowledges all updates before
 * it, so it moves only when the host has them.
 */
export function polls(receiving: Receiving): (self: Self) => Promise<void> {
  const { account, intake } = receiving;
  let offset: number | undefined;
  // Whether Telegram can be reached is asked without waiting: the answer to a long poll would tell half a minute later.
  let isSure = false;
  return async (self) => {
    const mayWait = isSure;
    isSure = false;
    const updates = await ask(receiving, offset, mayWait).catch(async (error: unknown) =>
      removeWebhook(account, error),
    );
    account.host.report({ kind: "alive", self: { id: String(self.id), name: `@${self.username}` } });
    const last = updates.at(-1);
    if (last) {
      await intake.take(self, updates);
      offset = last.update_id + 1;
    }
    isSure = true;
  };
}

async function ask({ account, signal }: Receiving, offset: number | undefined, mayWait: boolean): Promise<Update[]> {
  const { bot, config } = account;
  // An answer must come before the stall threshold strikes.
  const longest = Math.max(1, Math.min(POLL_SECONDS, Math.floor(config.pollingStallThresholdMs / 1000) - 10));
  const request = { limit: LIMIT, timeout: mayWait ? longest : 0, allowed_updates: ALLOWED_UPDATES };
  return bot.polls.getUpdates(offset === undefined ? request : { ...request, offset }, ender(signal));
}

/** Ends a webhook of ours, or anybody's where the config says so. Throws the error when it may stay. */
async function removeWebhook({ bot, config, host }: Account, error: unknown): Promise<readonly Update[]> {
  if (!isWebhook(failureOf(error))) throw error;
  const ours = await host.notes.get(WEBHOOK_NOTE);
  const isOurs = ours !== undefined && ours !== "" && (await bot.calls.getWebhookInfo()).url === ours;
  if (!isOurs && !config.takeOverWebhook) throw error;
  await bot.calls.deleteWebhook({});
  await host.notes.set(WEBHOOK_NOTE, "");
  host.log.warn(isOurs ? "removed the webhook that was configured before" : "removed the webhook of another program");
  return [];
}
