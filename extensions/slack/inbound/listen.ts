import { backoff, RequestedReconnects, wait } from "openclaw/plugin-sdk";
import type { ChannelHost } from "openclaw/plugin-sdk";
import type { Slack } from "../transport/api.ts";
import type { SlackConfig } from "../config.ts";
import { fixOf, outcomeOf, reasonOf, errorCodeOf } from "../transport/failures.ts";
import { Socket, SocketLost } from "../transport/socket.ts";
import type { SocketPorts } from "../transport/socket.ts";

export interface ListenOptions {
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
export async function listen(options: ListenOptions): Promise<void> {
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
export function reportFailure(host: ChannelHost, error: unknown, failures: number): number | undefined {
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
