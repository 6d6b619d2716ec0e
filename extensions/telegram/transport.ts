import http from "node:http";
import https from "node:https";
import { text } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import type { ApiClientOptions } from "grammy";

/** Throws when the body is not an answer of the Bot API (core.telegram.org/bots/api#making-requests): grammY does not check it. */
function readAnswer(body: string): unknown {
  const answer: unknown = JSON.parse(body);
  const isAnswer = typeof answer === "object" && answer !== null && "ok" in answer && typeof answer.ok === "boolean";
  if (!isAnswer) throw new Error("the answer is JSON, but not from the Bot API");
  return answer;
}

interface Call {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  /** A stream when the call sends files. */
  readonly body: string | AsyncIterable<Uint8Array>;
  readonly agent: http.Agent;
  readonly signal: Pick<AbortSignal, "addEventListener">;
}

/** The part of an HTTP answer that grammY reads. */
interface Answer {
  json(): Promise<unknown>;
}

/** HTTP calls to Telegram, direct or through a proxy. Both throw network errors. */
export interface HttpClient {
  post(url: string, call: Call): Promise<Answer>;
  get(url: string, signal: AbortSignal): Promise<Download>;
}

interface Download {
  readonly status: number;
  /** The unparsed header. */
  readonly retryAfter: string | undefined;
  readonly body: AsyncIterable<Uint8Array>;
}

/** Throws when the proxy's URL is invalid. */
export async function openHttp(proxy: string | undefined): Promise<HttpClient> {
  return proxy === undefined ? { post, get } : throughProxy(proxy);
}

/** One HTTP request. grammY's default, node-fetch, takes twice the time and causes a warning of Node. */
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

const get: HttpClient["get"] = async (url, signal) => {
  const answer = await fetch(url, { signal });
  const retryAfter = answer.headers.get("retry-after") ?? undefined;
  return { status: answer.status, retryAfter, body: answer.body ?? nothing() };
};

async function* nothing(): AsyncGenerator<Uint8Array> {
  // The answer has no body.
}

async function throughProxy(proxy: string): Promise<HttpClient> {
  const { ProxyAgent, request } = await import("undici");
  const { Readable } = await import("node:stream");
  const dispatcher = new ProxyAgent(proxy);
  // grammY and the adapter set timeouts themselves: a long poll is silent for half a minute.
  const noTimeouts = { dispatcher, headersTimeout: 0, bodyTimeout: 0 };
  return {
    async post(url, { headers, body, signal }) {
      const end = new AbortController();
      signal.addEventListener("abort", () => end.abort(new Error("aborted")), { once: true });
      const payload = typeof body === "string" ? body : Readable.from(body);
      const answer = await request(url, { ...noTimeouts, method: "POST", headers, body: payload, signal: end.signal });
      return { json: async () => readAnswer(await answer.body.text()) };
    },
    async get(url, signal) {
      const answer = await request(url, { ...noTimeouts, signal });
      const { "retry-after": wait } = answer.headers;
      return { status: answer.statusCode, retryAfter: typeof wait === "string" ? wait : undefined, body: answer.body };
    },
  };
}

type Fetch = NonNullable<ApiClientOptions["fetch"]>;
// grammY declares the type of node-fetch, but only passes a URL and the fields of `Call`, and only calls `json()`.
const isFetch = (call: unknown): call is Fetch => typeof call === "function";

/** The option that makes grammY use this client. */
export function grammyFetch({ post: call }: HttpClient): { fetch?: Fetch } {
  const fetch: unknown = call;
  return isFetch(fetch) ? { fetch } : {};
}
