import {
  wait,
  backoff,
  RequestedReconnects,
  type WebhookAnswer,
  type WebhookRequest,
  type ChannelHost,
} from "openclaw/plugin-sdk";
import type { Account } from "./account.ts";
import { requireSecret, whoAmI, type Slack } from "./transport/api.ts";
import type { Delivery } from "./events.ts";
import { Intake } from "./inbound/intake.ts";
import { answerWebhook } from "./transport/webhook.ts";
import type { SlackConfig } from "./config.ts";
import { fixOf, outcomeOf, reasonOf, errorCodeOf } from "./transport/failures.ts";
import { Socket, SocketLost, type SocketPorts } from "./transport/socket.ts";

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

interface ListenOptions {
  readonly slack: Slack;
  readonly config: SlackConfig;
  readonly host: ChannelHost;
  readonly signal: AbortSignal;
  /**
   * Resolves when the identity of the bot is known. Called before each connection. Throws the errors of the Web API
   * client.
   */
  ready(): Promise<void>;
  accept: SocketPorts["accept"];
  alive(): void;
}

/** A socket that ends sooner counts as a failure, so that the pause becomes longer each time. */
const STABLE_MS = 10_000;

/**
 * Keeps one socket open until the signal aborts or Slack refuses the account. A socket that Slack wants replaced stays open
 * until the next one is greeted, so that a socket receives every event. Never rejects.
 */
async function listen(options: ListenOptions): Promise<void> {
  const { host, signal } = options;
  const requested = new RequestedReconnects();
  let failures = 0;
  let old: Socket | undefined;
  while (!signal.aborted) {
    try {
      const socket = await open(options);
      const greeted = Date.now();
      old?.retire();
      const end = await socket.ended;
      old = end.kind === "replace" ? socket : undefined;
      if (Date.now() - greeted > STABLE_MS) failures = 0;
      if (end.kind === "disabled") throw new Disabled(end.reason);
      if (end.kind === "lost") throw new SocketLost(end.reason);
      await wait(requested.pauseMs(), signal);
    } catch (error) {
      if (signal.aborted) break;
      const retryInMs = reportFailure(host, error, failures++);
      if (retryInMs === undefined) break;
      await wait(retryInMs, signal);
    }
  }
  old?.close();
}

class Disabled extends Error {}

async function open({ slack, config, signal, ready, accept, alive }: ListenOptions): Promise<Socket> {
  await ready();
  const { url } = await slack.calls.apps.connections.open({ token: slack.appToken ?? "" });
  if (url === undefined) throw new SocketLost("Slack names no socket to open");
  signal.throwIfAborted();
  const ports = { silenceMs: config.socketMode.serverPingTimeout, accept, alive };
  return Socket.open(url, ports, signal);
}

/** Reports a failure to the host. Returns milliseconds until the next try, undefined when there is none. */
function reportFailure(host: ChannelHost, error: unknown, failures: number): number | undefined {
  const fix = error instanceof Disabled ? "Turn Socket Mode on in the settings of the Slack app." : fixOf(error);
  if (fix !== undefined) {
    const reason = error instanceof Disabled ? error.message : `Slack refuses the token (${errorCodeOf(error)})`;
    host.report({ kind: "dead", reason, fix });
    return undefined;
  }
  const outcome = outcomeOf(error);
  const retryInMs = Math.max(backoff(failures), outcome.kind === "retry" ? (outcome.afterMs ?? 0) : 0);
  const reason = error instanceof SocketLost ? error.message : reasonOf(error);
  host.report({ kind: "trouble", reason, retryInMs });
  return retryInMs;
}
