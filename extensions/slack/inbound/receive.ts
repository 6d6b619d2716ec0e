import { wait } from "openclaw/plugin-sdk";
import type { WebhookAnswer, WebhookRequest } from "openclaw/plugin-sdk";
import type { Account } from "../transport/account.ts";
import { revealed, whoAmI } from "../transport/api.ts";
import type { Delivery } from "./events.ts";
import { Intake } from "./intake.ts";
import { listen, remedy } from "./listen.ts";
import { answer } from "../transport/webhook.ts";

/** How often Slack is asked whether the token still holds where no socket tells. */
const PULSE_MS = 60_000;

/**
 * Begins to receive. Throws `OpenClawError` when the mode lacks a setting. The function given back resolves when nothing
 * is received any more; the signal must have aborted.
 */
export function receive(account: Account, signal: AbortSignal): () => Promise<void> {
  const { host, mentions } = account;
  const intake = new Intake({
    host,
    signal,
    notice: (delivery) => mentions.notice(delivery),
    read: (delivery) => account.read(delivery),
  });
  const work = account.config.mode === "http" ? serve(account, intake, signal) : hear(account, intake, signal);
  return async () => {
    await work;
    await intake.closed();
  };
}

const hear = (account: Account, intake: Intake, signal: AbortSignal): Promise<void> =>
  listen({
    slack: account.slack,
    config: account.config,
    host: account.host,
    signal,
    ready: async () => void (await account.ready()),
    take: (delivery) => intake.offer(delivery),
    alive: () => account.alive(),
  });

function serve(account: Account, intake: Intake, signal: AbortSignal): Promise<void> {
  const { config, host } = account;
  const secret = revealed(config.signingSecret, "signingSecret", "the app's signing secret");
  // Without a name of our own nothing can be read; Slack comes again.
  const take = async (delivery: Delivery): Promise<boolean> => {
    const isReady = await account.ready().then(
      () => true,
      () => false,
    );
    return isReady && intake.offer(delivery);
  };
  let isDead = false;
  const reply = async (request: WebhookRequest): Promise<WebhookAnswer> => {
    if (signal.aborted || isDead) return { status: 503 };
    return answer(request, { secret, take, alive: () => account.alive() });
  };
  host.serve(config.webhookPath, reply);
  return pulse(account, signal).then(() => {
    isDead = true;
  });
}

/** Until the signal aborts or Slack refuses the token. Never rejects. */
async function pulse(account: Account, signal: AbortSignal): Promise<void> {
  let failures = 0;
  while (!signal.aborted) {
    try {
      await whoAmI(account.slack);
      if (signal.aborted) return;
      account.alive();
      failures = 0;
      await wait(PULSE_MS, signal);
    } catch (error) {
      const retryInMs = remedy(account.host, error, failures++);
      if (retryInMs === undefined) return;
      await wait(retryInMs, signal);
    }
  }
}
