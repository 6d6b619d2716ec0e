import type { Update } from "grammy/types";
import type { ChannelHost, InboundMessage } from "openclaw/plugin-sdk";
import type { Bot, Self } from "./api.ts";
import { ender, whoAmI } from "./api.ts";
import { backoff, wait } from "./backoff.ts";
import type { TelegramConfig } from "./config.ts";
import { failureOf, isBadToken, TOKEN_FIX } from "./failures.ts";
import type { Failure } from "./failures.ts";
import { readUpdate } from "./inbound.ts";

const ALLOWED_UPDATES = ["message", "edited_message", "callback_query"] as const;
/** The most that Telegram gives at once, and the longest that we let it wait. */
const LIMIT = 100;
const POLL_SECONDS = 30;

export interface Polling {
  readonly bot: Bot;
  readonly config: TelegramConfig;
  readonly host: ChannelHost;
  readonly signal: AbortSignal;
}

/** The host refused a batch. */
class NotStored extends Error {}

/**
 * Asks for updates until the signal aborts or the token is dead. Asking from an offset acknowledges all updates before
 * it, so it moves only when the host has them. Never rejects.
 */
export async function poll(polling: Polling, known: Self | undefined): Promise<void> {
  let self = known;
  let offset: number | undefined;
  let failures = 0;
  // Whether Telegram can be reached is asked without waiting: the answer to a long poll would tell half a minute later.
  let isSure = false;
  while (!polling.signal.aborted) {
    try {
      self ??= await whoAmI(polling.bot, polling.signal);
      const updates = await ask(polling, offset, isSure);
      polling.host.report({ kind: "alive", self: { id: String(self.id), name: `@${self.username}` } });
      offset = (await take(polling, self, updates)) ?? offset;
      failures = 0;
      isSure = true;
    } catch (error) {
      isSure = false;
      if (polling.signal.aborted) return;
      const ms = await remedy(polling, error, failures++);
      if (ms === undefined) return;
      await wait(ms, polling.signal);
    }
  }
}

async function ask(polling: Polling, offset: number | undefined, mayWait: boolean): Promise<Update[]> {
  const { bot, config, signal } = polling;
  // An answer must come before the stall threshold strikes.
  const longest = Math.max(1, Math.min(POLL_SECONDS, Math.floor(config.pollingStallThresholdMs / 1000) - 10));
  const request = { limit: LIMIT, timeout: mayWait ? longest : 0, allowed_updates: ALLOWED_UPDATES };
  return bot.polls.getUpdates(offset === undefined ? request : { ...request, offset }, ender(signal));
}

/** Gives the updates to the host; the offset of the next poll, if it changes. */
async function take(polling: Polling, self: Self, updates: readonly Update[]): Promise<number | undefined> {
  const last = updates.at(-1);
  if (last === undefined) return undefined;
  const messages = updates.flatMap((update) => read(polling, self, update));
  if (messages.length > 0) {
    await polling.host.receive(messages).catch((cause: unknown) => {
      throw new NotStored("updates could not be stored", { cause });
    });
  }
  for (const update of updates) release(polling, update);
  return last.update_id + 1;
}

function read({ host }: Polling, self: Self, update: Update): readonly InboundMessage[] {
  try {
    const message = readUpdate(update, { account: host.account, self, now: Date.now() });
    return message ? [message] : [];
  } catch (error) {
    // One update that we misread must not hold up all that come after it.
    host.log.warn("an update could not be read and was left out", { update: update.update_id, error: String(error) });
    return [];
  }
}

function release({ bot, host }: Polling, update: Update): void {
  const moved = update.message?.migrate_to_chat_id;
  if (moved !== undefined) {
    host.log.warn("a group became a supergroup with a new id", { from: update.message?.chat.id, to: moved });
  }
  if (!update.callback_query) return;
  bot.calls.answerCallbackQuery({ callback_query_id: update.callback_query.id }).catch((error: unknown) => {
    host.log.info("a button kept spinning", { reason: failureOf(error).text });
  });
}

/** Tells the host what is wrong. Milliseconds until the next try; undefined when there is none. */
async function remedy(polling: Polling, error: unknown, failures: number): Promise<number | undefined> {
  const retryInMs = backoff(failures);
  if (error instanceof NotStored) {
    const cause = error.cause instanceof Error ? error.cause.message : String(error.cause);
    polling.host.report({ kind: "trouble", reason: `${error.message}: ${cause}`, retryInMs });
    return retryInMs;
  }
  const failure = failureOf(error);
  if (isBadToken(failure)) {
    polling.host.report({ kind: "dead", reason: `Telegram refuses the bot token (${failure.text})`, fix: TOKEN_FIX });
    return undefined;
  }
  if (isWebhook(failure) && polling.config.takeOverWebhook) return removeWebhook(polling, retryInMs);
  const ms = (failure.kind === "answered" ? failure.retryAfterMs : undefined) ?? retryInMs;
  polling.host.report({ kind: "trouble", reason: explain(failure), retryInMs: ms });
  return ms;
}

const isWebhook = (failure: Failure): boolean =>
  failure.kind === "answered" && failure.code === 409 && failure.text.toLowerCase().includes("webhook");

function explain(failure: Failure): string {
  if (isWebhook(failure)) {
    return "another program has set a webhook for this bot; channels.telegram.takeOverWebhook: true removes it";
  }
  if (failure.kind === "answered" && failure.code === 409) {
    return "another program polls this bot; stop it, or use a token of its own here";
  }
  return failure.text;
}

async function removeWebhook({ bot, host }: Polling, retryInMs: number): Promise<number> {
  try {
    await bot.calls.deleteWebhook({});
    host.log.warn("removed the webhook of this bot, as channels.telegram.takeOverWebhook says");
    return 0;
  } catch (error) {
    host.report({ kind: "trouble", reason: `the webhook could not be removed: ${failureOf(error).text}`, retryInMs });
    return retryInMs;
  }
}
