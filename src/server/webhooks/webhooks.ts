import type { IncomingMessage, ServerResponse } from "node:http";
import type { WebhookAnswer, WebhookRequest } from "../../types/chat/channel.ts";
import type { Clock } from "../../types/clock.ts";
import { OpenClawError } from "../../types/errors.ts";
import type { Log } from "../../types/log.ts";
import { WrongCredentials } from "../transport/auth.ts";
import type { MetricRow } from "../metrics.ts";
import type { WebhookPaths } from "../options.ts";
import { countingName, isLoopback, type RemotePeer } from "../remote-peer.ts";
import { PendingPeers } from "../transport/pending-peers.ts";
import { readBody, type ReadBody } from "./webhook-body.ts";

type Answer = (request: WebhookRequest) => Promise<WebhookAnswer>;

/** No platform waits longer than this for an answer. */
const ANSWER_MS = 30_000;
/** Most requests that adapters answer at the same time, each with its body in memory. */
const MOST_AT_ONCE = 128;
/** Refusals by an adapter, such as of a wrong signature, after which their sender is locked out. */
const REFUSALS = { maxAttempts: 60, windowMs: 60_000, lockoutMs: 60_000 };
/** How long a path answers 503 after its channel stopped, since the channel most likely restarts. */
const LINGER_MS = 60_000;

/** Paths of this server that no channel and no plugin may take. */
export const OWN_PATHS = /^\/(healthz|readyz|metrics|v1(\/.*)?|tools\/invoke|__openclaw__(\/.*)?|[^/]*\.[a-z0-9]+)?$/i;
const PLAIN_PATH = /^(\/[A-Za-z0-9_.~-]+)+$/;

interface Served {
  readonly answer: Answer;
  /** Time at which the channel of the path stopped. */
  readonly leftAt?: number;
}

/** Passes the platforms' HTTP requests to the adapters, which alone check the sender of each. */
export class Webhooks implements WebhookPaths {
  readonly #paths = new Map<string, Served>();
  readonly #counts = new Map<string, number>();
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #refused: WrongCredentials;
  /** Requests whose body is still arriving. Anyone can send a slow one, so new requests evict slow ones. */
  readonly #reading = new PendingPeers();
  #open = 0;

  constructor(clock: Clock, log: Log) {
    this.#clock = clock;
    this.#log = log;
    this.#refused = new WrongCredentials(REFUSALS, clock);
  }

  /** Answers a path until the signal aborts. Throws `CHANNEL_CONFIG` for a path that cannot be used. */
  serve(path: string, answer: Answer, signal: AbortSignal): void {
    if (signal.aborted) return;
    const why = this.#whyUnusable(path);
    if (why !== undefined) throw unusable(path, why);
    this.#paths.set(path, { answer });
    signal.addEventListener("abort", () => this.#leave(path, answer), { once: true });
  }

  /** Whether a channel answers a path. The path has no query. */
  has(path: string): boolean {
    const served = this.#paths.get(path);
    if (served?.leftAt === undefined || this.#clock.now() < served.leftAt + LINGER_MS) return served !== undefined;
    this.#paths.delete(path);
    return false;
  }

  /** Answers one request to a path for which `has` is true. Never rejects. */
  async take(path: string, request: IncomingMessage, response: ServerResponse, peer: RemotePeer): Promise<void> {
    const sender = senderOf(peer);
    const answer = await this.#answerOf(path, request, sender);
    if (sender !== undefined && isRefusal(answer.status)) this.#refused.fail(sender);
    const name = JSON.stringify([path, answer.status]);
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
    this.#send(path, answer, request, response);
  }

  /** An adapter may have set a header that HTTP does not allow. */
  #send(path: string, answer: WebhookAnswer, request: IncomingMessage, response: ServerResponse): void {
    try {
      send(answer, request, response);
    } catch (error) {
      this.#log.error("a channel's answer to a web request cannot be sent", { path, error });
      if (response.headersSent) response.destroy();
      else send({ status: 500 }, request, response);
    }
  }

  metrics(): readonly MetricRow[] {
    return [...this.#counts].map(([name, value]) => {
      const [path, status]: readonly unknown[] = JSON.parse(name);
      return {
        name: "openclaw_channel_webhook_requests_total",
        help: "Requests of platforms, by path and status.",
        type: "counter",
        value,
        labels: { path: String(path), status: String(status) },
      };
    });
  }

  #whyUnusable(path: string): string | undefined {
    if (!PLAIN_PATH.test(path)) return "is not a path such as /hooks/slack";
    if (OWN_PATHS.test(path)) return "belongs to the gateway itself";
    const served = this.#paths.get(path);
    return served && served.leftAt === undefined ? "is taken by another account" : undefined;
  }

  #leave(path: string, answer: Answer): void {
    if (this.#paths.get(path)?.answer === answer) this.#paths.set(path, { answer, leftAt: this.#clock.now() });
  }

  async #answerOf(path: string, request: IncomingMessage, sender: string | undefined): Promise<WebhookAnswer> {
    const served = this.#paths.get(path);
    if (!served || served.leftAt !== undefined) return later(LATER_SECONDS);
    if (request.method !== "GET" && request.method !== "POST") return { status: 405, headers: { allow: "GET, POST" } };
    const lockedMs = sender === undefined ? 0 : this.#refused.lockedFor(sender);
    if (lockedMs > 0) return { status: 429, headers: { "retry-after": String(Math.ceil(lockedMs / 1000)) } };
    const read = await this.#read(request, sender);
    if (read.kind === "refused") return read.status === 503 ? later(LATER_SECONDS) : { status: read.status };
    if (this.#open >= MOST_AT_ONCE) return later(LATER_SECONDS);
    this.#open++;
    try {
      return await this.#ask(path, served.answer, describe(request, read.body));
    } finally {
      this.#open--;
    }
  }

  async #read(request: IncomingMessage, sender = PROXIED): Promise<ReadBody> {
    const evicted = new AbortController();
    const settled = this.#reading.admit(sender, () => evicted.abort());
    return readBody(request, this.#clock, evicted.signal).finally(settled);
  }

  async #ask(path: string, answer: Answer, request: WebhookRequest): Promise<WebhookAnswer> {
    const late = Promise.withResolvers<WebhookAnswer>();
    const cancel = this.#clock.after(ANSWER_MS, () => late.resolve(later(LATER_SECONDS)));
    try {
      return await Promise.race([answer(request), late.promise]);
    } catch (error) {
      this.#log.error("the channel failed to answer a web request", { path, error });
      return later(LATER_SECONDS);
    } finally {
      cancel();
    }
  }
}

/** The one name of all senders that a proxy on this machine hides. */
const PROXIED = "a proxy on this machine";
const LATER_SECONDS = 5;
const later = (seconds: number): WebhookAnswer => ({ status: 503, headers: { "retry-after": String(seconds) } });

const isRefusal = (status: number): boolean => [400, 401, 403, 413].includes(status);

const unusable = (path: string, why: string): OpenClawError =>
  new OpenClawError("CHANNEL_CONFIG", {
    message: `The path ${path} ${why}.`,
    fix: "Give each account its own path (webhookPath).",
  });

/**
 * The name under which a sender's refusals are counted. Undefined for a proxy on this machine that
 * `gateway.trustedProxies` does not name: its callers cannot be distinguished, and one caller must not lock out the
 * platform.
 */
const senderOf = (peer: RemotePeer): string | undefined =>
  isLoopback(peer.address) && peer.isProxied ? undefined : countingName(peer);

function describe(request: IncomingMessage, body: Uint8Array): WebhookRequest {
  const { searchParams } = new URL(request.url ?? "/", "http://gateway");
  const headers = Object.entries(request.headers).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, Array.isArray(value) ? value.join(", ") : value] as const],
  );
  return {
    method: request.method ?? "GET",
    headers: Object.fromEntries(headers),
    query: Object.fromEntries(searchParams),
    body,
  };
}

function send(answer: WebhookAnswer, request: IncomingMessage, response: ServerResponse): void {
  const { status, headers = {}, body = "" } = answer;
  // The unread rest of a body would be taken for the next request.
  const ends: Record<string, string> = request.complete ? {} : { connection: "close" };
  const bytes = Buffer.from(body, "utf8");
  response.writeHead(status, {
    "content-type": "text/plain; charset=utf-8",
    "x-content-type-options": "nosniff",
    "content-length": String(bytes.byteLength),
    ...headers,
    ...ends,
  });
  response.end(bytes);
}
