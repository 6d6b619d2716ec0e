import http from "node:http";
import https from "node:https";
import { text } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import type { ApiClientOptions } from "grammy";
import { z } from "zod";

/** core.telegram.org/bots/api#making-requests */
const answerShape = z.looseObject({ ok: z.boolean() });

/** Throws when it is no answer of the Bot API; grammY reads its fields without a look. */
function readAnswer(said: string): unknown {
  const { success, data } = answerShape.safeParse(JSON.parse(said));
  if (!success) throw new Error("the answer is JSON, and not one of the Bot API");
  return data;
}

interface Call {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  /** A stream where files are sent. */
  readonly body: string | AsyncIterable<Uint8Array>;
  readonly agent: http.Agent;
  readonly signal: Pick<AbortSignal, "addEventListener">;
}

/** What of an answer is read. */
interface Answer {
  json(): Promise<unknown>;
}

/** The road to Telegram: straight, or through a proxy. Both calls throw what the network throws. */
export interface Wire {
  post(url: string, call: Call): Promise<Answer>;
  get(url: string, signal: AbortSignal): Promise<Got>;
}

interface Got {
  readonly status: number;
  /** The header, as it came. */
  readonly retryAfter: string | undefined;
  readonly body: AsyncIterable<Uint8Array>;
}

/** Throws when the proxy's address cannot be read. */
export async function openWire(proxy: string | undefined): Promise<Wire> {
  return proxy === undefined ? { post, get } : throughProxy(proxy);
}

/** One HTTP request. grammY's own way, node-fetch, takes twice the time and makes Node warn. */
async function post(url: string, { method, headers, body, agent, signal }: Call): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const { request } = url.startsWith("https:") ? https : http;
    const outgoing = request(url, { method, headers, agent }, (answer) => {
      resolve({ json: async () => readAnswer(await text(answer)) });
    });
    outgoing.on("error", reject);
    signal.addEventListener("abort", () => outgoing.destroy(new Error("aborted")), { once: true });
    if (typeof body === "string") outgoing.end(body);
    else pipeline(body, outgoing).catch(reject);
  });
}

const get: Wire["get"] = async (url, signal) => {
  const answer = await fetch(url, { signal });
  const retryAfter = answer.headers.get("retry-after") ?? undefined;
  return { status: answer.status, retryAfter, body: answer.body ?? nothing() };
};

async function* nothing(): AsyncGenerator<Uint8Array> {
  // An answer without a body.
}

async function throughProxy(proxy: string): Promise<Wire> {
  const { ProxyAgent, request } = await import("undici");
  const { Readable } = await import("node:stream");
  const dispatcher = new ProxyAgent(proxy);
  // The timeouts are grammY's and the adapter's own: a long poll is silent for half a minute.
  const patient = { dispatcher, headersTimeout: 0, bodyTimeout: 0 };
  return {
    async post(url, { headers, body, signal }) {
      const end = new AbortController();
      signal.addEventListener("abort", () => end.abort(new Error("aborted")), { once: true });
      const payload = typeof body === "string" ? body : Readable.from(body);
      const answer = await request(url, { ...patient, method: "POST", headers, body: payload, signal: end.signal });
      return { json: async () => readAnswer(await answer.body.text()) };
    },
    async get(url, signal) {
      const answer = await request(url, { ...patient, signal });
      const { "retry-after": wait } = answer.headers;
      return { status: answer.statusCode, retryAfter: typeof wait === "string" ? wait : undefined, body: answer.body };
    },
  };
}

type Fetch = NonNullable<ApiClientOptions["fetch"]>;
// grammY asks for the whole of node-fetch, and calls it with a URL and the fields above for its `json()` alone.
const isFetch = (call: unknown): call is Fetch => typeof call === "function";

/** The option that makes grammY send its requests so. */
export function grammyFetch({ post: call }: Wire): { fetch?: Fetch } {
  const asked: unknown = call;
  return isFetch(asked) ? { fetch: asked } : {};
}
