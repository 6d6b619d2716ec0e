import { background, wait } from "openclaw/plugin-sdk";
import { whoAmI } from "../api.ts";
import type { Self } from "../api.ts";
import { showMenu } from "../menu.ts";
import { polls } from "./poll.ts";
import type { Receiving } from "./receiving.ts";
import { reportFailure } from "./failure-report.ts";
import { webhook } from "./webhook.ts";

/** One round of receiving: a poll, or a check of the webhook. Throws when it fails. */
export type Round = (self: Self) => Promise<void>;

/** Receives by webhook when one is configured, else by polling. Throws `CHANNEL_CONFIG`. */
export const openReceiver = (receiving: Receiving): Round =>
  receiving.account.config.webhookUrl === undefined
    ? polls(receiving)
    : webhook(receiving, receiving.account.config.webhookUrl);

/** Receives, round by round, until the signal aborts or the account is dead. Never rejects. */
export async function receive(receiving: Receiving, round: Round, known: Self | undefined): Promise<void> {
  const { account, signal } = receiving;
  let self = known;
  let failures = 0;
  let isReady = false;
  while (!signal.aborted) {
    try {
      self ??= await whoAmI(account.bot, signal);
      if (!isReady) await prepare(receiving);
      isReady = true;
      await round(self);
      failures = 0;
    } catch (error) {
      if (signal.aborted) return;
      const ms = reportFailure(account, error, failures++);
      if (ms === undefined) return;
      await wait(ms, signal);
    }
  }
}

async function prepare({ account, intake, signal }: Receiving): Promise<void> {
  await account.migrations.begin();
  await account.own.begin();
  await intake.begin();
  background("menu of commands", showMenu(account, signal));
}
