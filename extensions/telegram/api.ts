import fs from "node:fs/promises";
import http from "node:http";
import https from "node:https";
import os from "node:os";
import { text } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import { Api, type ApiClientOptions } from "grammy";
import { loadUndici, OpenClawError } from "openclaw/plugin-sdk";
import type { TelegramConfig } from "./config.ts";

/** The bot itself. */
export interface Self {
  readonly id: number;
  readonly username: string;
  readonly name: string;
}

/** The Bot API with a bot's token. `token` itself is only used in URLs of files. */
export interface BotApi {
  /** API for all calls except long polls. */
  readonly calls: Api["raw"];
  /** API for long polls, with their longer timeout. */
  readonly polls: Api["raw"];
  readonly token: string;
  /** Client for downloads. */
  readonly wire: HttpClient;
}

/** Throws `OpenClawError` when there is no token. */
export async function openBot(config: TelegramConfig): Promise<BotApi> {
  const token = await readToken(config);
  const wire = await openHttp(config.proxy);
  const open = (timeoutSeconds: number): Api["raw"] =>
    new Api(token, { apiRoot: config.apiRoot, timeoutSeconds, ...grammyFetch(wire) }).raw;
  return { calls: open(config.timeoutSeconds), polls: open(config.pollingStallThresholdMs / 1000), token, wire };
}

async function readToken(config: TelegramConfig): Promise<string> {
  if (config.botToken !== undefined) return config.botToken.reveal().trim();
  if (config.tokenFile === undefined) throw noToken("Telegram has no bot token.");
  const text = await fs.readFile(config.tokenFile.replace(/^~(?=\/)/, os.homedir()), "utf8").catch((error: unknown) => {
    throw noToken(`The Telegram token file ${config.tokenFile} cannot be read.`, error);
  });
  if (text.trim() === "") throw noToken(`The Telegram token file ${config.tokenFile} is empty.`);
  return text.trim();
}

const noToken = (message: string, cause?: unknown): OpenClawError =>
  new OpenClawError("CHANNEL_CONFIG", {
    message,
    fix: "Set channels.telegram.botToken to the token that @BotFather gave you.",
    cause,
  });

/** Asks Telegram which bot the token belongs to. Throws what grammY throws. */
export async function whoAmI(bot: BotApi, signal: AbortSignal): Promise<Self> {
  const me = await bot.calls.getMe(grammySignal(signal));
  return { id: me.id, username: me.username, name: me.first_name };
}

type GrammySignal = NonNullable<Parameters<Api["getMe"]>[0]>;
// grammY declares the type of a polyfill; Node's own class has every method that grammY calls.
const isGrammySignal = (signal: unknown): signal is GrammySignal => signal instanceof AbortSignal;

/** A signal with grammY's type. */
export const grammySignal = (signal: unknown): GrammySignal | undefined =>
  isGrammySignal(signal) ? signal : undefined;

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
  readonly signal: Pick<AbortSignal, "addEventListener" | "aborted">;
}

/** The part of an HTTP answer that grammY reads. */
interface Answer {
  json(): Promise<unknown>;
}

/** HTTP calls to Telegram, direct or through a proxy. Both throw network errors. */
interface HttpClient {
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
async function openHttp(proxy: string | undefined): Promise<HttpClient> {
  return proxy === undefined ? { post, get } : throughProxy(proxy);
}

/** Makes an HTTP request. grammY's default, node-fetch, takes twice the time and causes a warning of Node. */
async function post(url: string, { method, headers, body, agent, signal }: Call): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const { request } = url.startsWith("https:") ? https : http;
    const outgoing = request(url, { method, headers, agent }, (answer) => {
      resolve({ json: async () => readAnswer(await text(answer)) });
    });
    outgoing.on("error", reject);
    const abort = (): void => void outgoing.destroy(new Error("aborted"));
    signal.addEventListener("abort", abort, { once: true });
    if (signal.aborted) return abort();
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
  const { ProxyAgent, request } = await loadUndici();
  const { Readable } = await import("node:stream");
  const dispatcher = new ProxyAgent(proxy);
  // grammY and the adapter set timeouts themselves: a long poll is silent for half a minute.
  const noTimeouts = { dispatcher, headersTimeout: 0, bodyTimeout: 0 };
  return {
    async post(url, { headers, body, signal }) {
      const end = new AbortController();
      const abort = (): void => end.abort(new Error("aborted"));
      signal.addEventListener("abort", abort, { once: true });
      if (signal.aborted) abort();
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
function grammyFetch({ post: call }: HttpClient): { fetch?: Fetch } {
  const fetch: unknown = call;
  return isFetch(fetch) ? { fetch } : {};
}
