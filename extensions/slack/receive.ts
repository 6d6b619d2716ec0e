import { wait } from "openclaw/plugin-sdk";
import type { WebhookAnswer, WebhookRequest } from "openclaw/plugin-sdk";
import type { Account } from "./account.ts";
import { requireSecret, whoAmI } from "./transport/api.ts";
import type { Delivery } from "./events.ts";
import { Intake } from "./inbound/intake.ts";
import { listen, reportFailure } from "./inbound/listen.ts";
import { answerWebhook } from "./transport/webhook.ts";

/** How often the token is checked in `mode: http`, where no socket shows that it is valid. */
const TOKEN_CHECK_MS = 60_000;

/**
 * Begins to receive. Throws `OpenClawError` when the mode lacks a setting. The returned function resolves when receiving
 * has ended; the signal must have aborted before it is called.
 */
export function receive(account: Account, signal: AbortSignal): () => Promise<void> {
  const { host, mentions } = account;
  const intake = new Intake({
    host,
    signal,
    observe: (delivery) => mentions.observe(delivery),
    read: (delivery) => account.read(delivery),
  });
  const work =
    account.config.mode === "http"
      ? receiveFromWebhook(account, intake, signal)
      : receiveFromSocket(account, intake, signal);
  return async () => {
    await work;
    await intake.closed();
  };
}

const receiveFromSocket = (account: Account, intake: Intake, signal: AbortSignal): Promise<void> =>
  listen({
    slack: account.slack,
    config: account.config,
    host: account.host,
    signal,
    ready: async () => void (await account.ready()),
    accept: (delivery) => intake.offer(delivery),
    alive: () => account.alive(),
  });

function receiveFromWebhook(account: Account, intake: Intake, signal: AbortSignal): Promise<void> {
  const { config, host } = account;
  const secret = requireSecret(config.signingSecret, "signingSecret", "the app's signing secret");
  // No event can be read before the bot's identity is known. Slack sends the event again.
  const accept = async (delivery: Delivery): Promise<boolean> => {
    const isReady = await account.ready().then(
      () => true,
      () => false,
    );
    return isReady && intake.offer(delivery);
  };
  let isDead = false;
  const reply = async (request: WebhookRequest): Promise<WebhookAnswer> => {
    if (signal.aborted || isDead) return { status: 503 };
    return answerWebhook(request, { secret, accept, alive: () => account.alive() });
  };
  host.serve(config.webhookPath, reply);
  return checkToken(account, signal).then(() => {
    isDead = true;
  });
}

/** Checks the token until the signal aborts or Slack refuses it. Never rejects. */
async function checkToken(account: Account, signal: AbortSignal): Promise<void> {
  let failures = 0;
  while (!signal.aborted) {
    try {
      await whoAmI(account.slack);
      if (signal.aborted) return;
      account.alive();
      failures = 0;
      await wait(TOKEN_CHECK_MS, signal);
    } catch (error) {
      const retryInMs = reportFailure(account.host, error, failures++);
      if (retryInMs === undefined) return;
      await wait(retryInMs, signal);
    }
  }
}
