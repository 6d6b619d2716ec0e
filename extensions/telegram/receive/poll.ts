import type { Update } from "grammy/types";
import { z } from "zod";
import { readOwnNote, wait } from "openclaw/plugin-sdk";
import { grammySignal } from "../api.ts";
import type { Self } from "../api.ts";
import { failureOf } from "../send/failures.ts";
import { WEBHOOK_NOTE } from "./receiving.ts";
import type { Receiving } from "./receiving.ts";
import { isWebhook } from "./failure-report.ts";
import type { Account } from "../account.ts";
import { ALLOWED_UPDATES } from "../updates.ts";

/** Telegram's maximum of updates per poll, and the longest wait of a poll. */
const LIMIT = 100;
const POLL_SECONDS = 30;
/**
 * Milliseconds until the next poll after a poll that brought updates. Meanwhile their turns have the processor, and
 * under load the next poll brings more updates.
 */
const GATHER_MS = 4;

/**
 * Each call polls for updates once, and throws when that fails. A poll from an offset acknowledges all updates before it, so the
 * offset only moves when the host has stored them.
 */
export function polls(receiving: Receiving): (self: Self) => Promise<void> {
  const { account, intake, signal } = receiving;
  let offset: number | undefined;
  let isFirst = true;
  // The first poll, and each one after a failure, returns at once: a long poll would report only after half a minute.
  let isReachable = false;
  return async (self) => {
    const mayWait = isReachable;
    isReachable = false;
    if (isFirst) offset = await importedOffset(account, self);
    const updates = await ask(receiving, offset, mayWait).catch(async (error: unknown) =>
      removeWebhook(account, error),
    );
    if (isFirst && offset !== undefined) await account.host.notes.set(POSITION_NOTE, "null");
    isFirst = false;
    account.host.report({ kind: "alive", self: { id: String(self.id), name: `@${self.username}` } });
    const last = updates.at(-1);
    if (last) {
      await intake.take(self, updates);
      offset = last.update_id + 1;
      await wait(GATHER_MS, signal);
    }
    isReachable = true;
  };
}

/** The name of the note with the position of another gateway, as an import leaves it. */
const POSITION_NOTE = "position";
/** Telegram keeps updates for a day, and may number later ones from a lower number on. */
const POSITION_KEPT_MS = 24 * 3_600_000;

const position = z.object({ botId: z.string(), lastUpdateId: z.number().int(), atMs: z.number() }).nullable();

/** The first update that another gateway has not answered, where an import brought its position in the updates of this bot. */
async function importedOffset({ host }: Account, self: Self): Promise<number | undefined> {
  const read = await readOwnNote(host, POSITION_NOTE, position);
  const isValid = read?.botId === String(self.id) && Date.now() - read.atMs < POSITION_KEPT_MS;
  return isValid ? read.lastUpdateId + 1 : undefined;
}

async function ask({ account, signal }: Receiving, offset: number | undefined, mayWait: boolean): Promise<Update[]> {
  const { bot, config } = account;
  // The poll must return before the stall threshold.
  const longest = Math.max(1, Math.min(POLL_SECONDS, Math.floor(config.pollingStallThresholdMs / 1000) - 10));
  const request = { limit: LIMIT, timeout: mayWait ? longest : 0, allowed_updates: ALLOWED_UPDATES };
  return bot.polls.getUpdates(offset === undefined ? request : { ...request, offset }, grammySignal(signal));
}

/** Removes our webhook, or anybody's if the config allows that. Rethrows the error otherwise. */
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
