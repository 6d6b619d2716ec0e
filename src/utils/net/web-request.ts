import { pipeline, type Readable } from "node:stream";
import zlib from "node:zlib";
import type { Dispatcher } from "undici";
import { FetchRefused, type Resolve } from "./safe-fetch.ts";
import { checkedLookup, checkedUrl, refusalIn } from "./guard.ts";
import type { HostRules } from "./host-rules.ts";
import type { Env } from "../env.ts";
import { loadUndici } from "./undici.ts";

export interface WebRequest {
  readonly rules: HostRules;
  /** Milliseconds for the whole: names, redirects, and the body. */
  readonly timeoutMs: number;
  /** Bytes of the body that are read, also after it has been decompressed. */
  readonly maxBytes: number;
  readonly maxRedirects: number;
  readonly signal: AbortSignal;
  readonly method?: "GET" | "HEAD" | "POST";
  /** Header values by their names in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Text of a POST. */
  readonly body?: string;
  /** Whether the body of such an answer is worth reading; every body when unset. */
  wants?(status: number, headers: Headers): boolean;
  /** The environment whose proxy sends the requests and resolves their names; without it, they are sent directly. */
  readonly proxyEnv?: Readonly<Record<string, string | undefined>>;
  /** The system's resolver unless given. */
  readonly resolve?: Resolve;
}

export interface WebAnswer extends Body {
  readonly status: number;
  readonly headers: Headers;
  /** The address after redirects. */
  readonly url: URL;
}

/** Headers that another origin may get after a redirect. */
const SHARED_HEADERS = /^(?:accept(?:-.*)?|cache-control|content-language|content-type|if-.*|pragma|range|user-agent)$/;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);

/**
 * Sends a request to an address that somebody outside may have chosen. Names and addresses are checked before each connection,
 * also after redirects. An endless body is cut, a slow one ends with the time. Rejects with `FetchRefused`, and with the
 * signal's reason after an abort.
 */
export async function requestWeb(address: string, request: WebRequest): Promise<WebAnswer> {
  const late = AbortSignal.timeout(request.timeoutMs);
  const hop = { ...request, signal: AbortSignal.any([late, request.signal]) };
  try {
    return await follow(address, hop);
  } catch (error) {
    if (request.signal.aborted) throw request.signal.reason;
    const refused = refusalIn(error);
    if (refused) throw refused;
    if (late.aborted)
      throw new FetchRefused("network", `there was no whole answer within ${request.timeoutMs / 1000} s`);
    throw new FetchRefused("network", `there was no whole answer (${reasonOf(error)})`, { cause: error });
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return "unknown";
  return "code" in error && typeof error.code === "string" ? error.code : error.name;
}

async function follow(address: string, request: WebRequest): Promise<WebAnswer> {
  let url = withoutLogin(checkedUrl(address, request.rules));
  let next = request;
  for (let hops = 0; ; hops += 1) {
    const answer = await send(url, next);
    if (answer instanceof URL && hops >= request.maxRedirects)
      throw new FetchRefused("redirects", `${url.origin} is one redirect too many`);
    if (!(answer instanceof URL)) return answer;
    next = afterRedirect(next, answer.origin === url.origin);
    url = answer;
  }
}

/** A redirected request has no body, and another origin gets no header that could be meant for the first one only. */
function afterRedirect({ body: _body, ...request }: WebRequest, isSameOrigin: boolean): WebRequest {
  const headers = Object.entries(request.headers ?? {}).filter(
    ([name]) => (isSameOrigin || SHARED_HEADERS.test(name)) && !(request.method === "POST" && name === "content-type"),
  );
  return { ...request, method: request.method === "HEAD" ? "HEAD" : "GET", headers: Object.fromEntries(headers) };
}

function withoutLogin(url: URL): URL {
  url.username = "";
  url.password = "";
  url.hash = "";
  return url;
}

/** Sends one request: gives the answer, or the URL to ask next. */
async function send(url: URL, request: WebRequest): Promise<WebAnswer | URL> {
  const { request: ask } = await loadUndici();
  const dispatcher = await dispatcherFor(url, request);
  const { method = "GET", headers, body, signal } = request;
  try {
    const sent = { "accept-encoding": "gzip, deflate, br", ...headers };
    const answer = await ask(url, { dispatcher, method, signal, headers: sent, ...(body !== undefined && { body }) });
    return await taken(answer, url, request);
  } finally {
    await dispatcher.destroy();
  }
}

async function dispatcherFor(url: URL, { rules, resolve, proxyEnv }: WebRequest): Promise<Dispatcher> {
  const { Agent, ProxyAgent } = await loadUndici();
  const proxy = proxyEnv && proxyFor(url, proxyEnv);
  // The proxy resolves the name, so that only the name itself could be checked.
  if (proxy !== undefined) return new ProxyAgent(proxy);
  return new Agent({ connect: { lookup: checkedLookup({ ...rules, ...(resolve && { resolve }) }) }, pipelining: 0 });
}

async function taken(
  { statusCode: status, headers: raw, body }: Dispatcher.ResponseData,
  url: URL,
  request: WebRequest,
): Promise<WebAnswer | URL> {
  const headers = new Headers(
    Object.entries(raw).flatMap(([name, value]) => [value ?? []].flat().map((one): [string, string] => [name, one])),
  );
  const location = headers.get("location");
  if (REDIRECTS.has(status) && location !== null) {
    const next = URL.parse(location, url.href);
    return withoutLogin(checkedUrl(next?.href ?? location, request.rules));
  }
  const isWanted = request.method !== "HEAD" && (request.wants?.(status, headers) ?? true);
  const read = isWanted ? await readBody(body, headers.get("content-encoding"), request.maxBytes) : NOTHING;
  return { status, headers, url, ...read };
}

const NOTHING: Body = { bytes: new Uint8Array(), isCut: false };

interface Body {
  readonly bytes: Uint8Array;
  /** There was more than was read. */
  readonly isCut: boolean;
}

const PLAIN = new Set(["", "identity"]);

/** Reads a body, decompressed, until it has so many bytes. Rejects with `FetchRefused` when nobody can decompress it. */
async function readBody(body: Readable, encoding: string | null, most: number): Promise<Body> {
  const name = (encoding ?? "").trim().toLowerCase();
  if (PLAIN.has(name)) return read(body, most);
  const decoder = decoderFor(name);
  if (!decoder) throw new FetchRefused("network", "the answer is compressed in an unknown way");
  // An error reaches the reader of the decoder, which `read` is.
  pipeline(body, limitedTo(most), decoder, () => undefined);
  return read(decoder, most);
}

function decoderFor(name: string): zlib.Gunzip | undefined {
  // Zlib must give the part of a cut answer that it can read.
  if (name === "gzip" || name === "x-gzip") return zlib.createGunzip({ finishFlush: zlib.constants.Z_SYNC_FLUSH });
  if (name === "deflate") return zlib.createInflate({ finishFlush: zlib.constants.Z_SYNC_FLUSH });
  if (name === "br") return zlib.createBrotliDecompress({ finishFlush: zlib.constants.BROTLI_OPERATION_FLUSH });
  return undefined;
}

/** Ends a stream after so many bytes: compressed text that is longer than its limit is no text. */
const limitedTo = (most: number) =>
  async function* (parts: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    let length = 0;
    for await (const part of parts) {
      length += part.byteLength;
      yield part;
      if (length > most) return;
    }
  };

/** Leaving the loop ends the stream, and with it the connection. */
async function read(parts: AsyncIterable<Uint8Array>, most: number): Promise<Body> {
  const kept: Uint8Array[] = [];
  let left = most;
  let isCut = false;
  for await (const part of parts) {
    if (part.byteLength > left) {
      kept.push(part.subarray(0, left));
      isCut = true;
      break;
    }
    kept.push(part);
    left -= part.byteLength;
  }
  return { bytes: new Uint8Array(Buffer.concat(kept)), isCut };
}

/** The proxy that the environment names for an address (`HTTPS_PROXY`, `HTTP_PROXY`, `NO_PROXY`); undefined when there is none. */
function proxyFor({ protocol, hostname }: URL, env: Env): string | undefined {
  const value = (name: string): string | undefined => env[name] ?? env[name.toLowerCase()];
  const without = (value("NO_PROXY") ?? "").split(/[\s,]+/).filter((part) => part !== "");
  if (without.some((part) => part === "*" || isBelow(hostname, part.replace(/^\*?\./, "")))) return undefined;
  const proxy = value(protocol === "https:" ? "HTTPS_PROXY" : "HTTP_PROXY");
  return proxy === undefined || proxy === "" ? undefined : proxy;
}

const isBelow = (host: string, domain: string): boolean => host === domain || host.endsWith(`.${domain}`);
