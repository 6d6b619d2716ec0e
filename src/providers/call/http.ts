import http from "node:http";
import https from "node:https";
import { background } from "../../utils/background.ts";
import { asError, decoded, HttpBody, networkErrorText, type TrafficSink } from "./http-body.ts";
import { plainBody, type PlainBody } from "./paced.ts";
import { free, piecesOf } from "./body/pieces.ts";

/** Milliseconds for which idle connections are kept, as by `fetch`; fewer where the server says so. */
const KEPT_MS = 4000;
const CLIENTS: ReadonlyMap<string, { readonly request: typeof http.request; readonly agent: http.Agent }> = new Map([
  ["http:", { request: http.request, agent: new http.Agent({ keepAlive: true, timeout: KEPT_MS }) }],
  ["https:", { request: https.request, agent: new https.Agent({ keepAlive: true, timeout: KEPT_MS }) }],
]);

interface PlainRequest {
  readonly url: URL;
  readonly method: string;
  /**
   * Names, each followed by its value. Node checks and copies the headers of an object twice, and the headers of a list
   * once.
   */
  readonly headers: readonly string[];
  /** The body as the SDK gave it, for `free`. */
  readonly body: unknown;
  /** The bytes of the body. Undefined: the request has none. */
  readonly pieces: readonly Uint8Array[] | undefined;
  readonly signal: AbortSignal | null;
  /** Resolves when the operating system has all of the body. Never rejects. */
  readonly sent: PromiseWithResolvers<void>;
}

/** The part of a `Response` that the SDKs of OpenAI and Anthropic read. */
interface Answer {
  readonly ok: boolean;
  readonly status: number;
  readonly statusText: string;
  readonly url: string;
  readonly headers: AnswerHeaders;
  readonly body: PlainBody;
  text(): Promise<string>;
  json(): Promise<unknown>;
}
/** The part of `Headers` that the SDKs read. `Headers` itself takes longer to make. */
class AnswerHeaders {
  readonly #values: ReadonlyMap<string, string>;

  /** `values` by their names in lower case. */
  constructor(values: ReadonlyMap<string, string>) {
    this.#values = values;
  }

  get(name: string): string | null {
    return this.#values.get(name.toLowerCase()) ?? null;
  }

  has(name: string): boolean {
    return this.#values.has(name.toLowerCase());
  }

  entries(): IterableIterator<[string, string]> {
    return this.#values.entries();
  }

  keys(): IterableIterator<string> {
    return this.#values.keys();
  }

  values(): IterableIterator<string> {
    return this.#values.values();
  }

  forEach(take: (value: string, name: string) => void): void {
    this.#values.forEach(take);
  }

  [Symbol.iterator](): IterableIterator<[string, string]> {
    return this.entries();
  }
}

// The SDKs' types name `Response`, of which the SDKs read only this.
const isResponse = (answer: Answer | Response): answer is Response => answer.ok !== undefined;

/**
 * Sends a request as `fetch` does, in half of the processor time, and reports its traffic to `sink`. The body is passed on as
 * `withPacedBody` says. Undefined when the request needs `fetch` itself: its body is a stream, or it goes through a proxy. `again` sends
 * a request whose answer redirects. Rejects as `fetch` does: with the signal's reason, or a `TypeError` whose cause is the
 * network's error.
 */
export function sendPlain(
  input: unknown,
  init: RequestInit | undefined,
  { sink, again }: { readonly sink: TrafficSink; again(): Promise<Response> },
): Promise<Response> | undefined {
  const request = plainRequest(input, init);
  return request && answerTo(request, sink, again);
}

function plainRequest(input: unknown, init: RequestInit = {}): PlainRequest | undefined {
  const { method = "GET", headers, body = null, signal = null } = init;
  const url = urlOf(input);
  if (!url || !isComplete(body) || usesProxy()) return undefined;
  const pieces = body === null ? undefined : (piecesOf(body) ?? [wholeOf(body)]);
  const asked = [...headersFor(url, headers), ...lengthOf(pieces, method)];
  return { url, method, headers: asked, body, pieces, signal, sent: Promise.withResolvers() };
}

/** The URL of a request; undefined when only `fetch` can send it. */
function urlOf(input: unknown): URL | undefined {
  if (typeof input !== "string" && !(input instanceof URL)) return undefined;
  const url = new URL(input);
  return CLIENTS.has(url.protocol) && url.username === "" ? url : undefined;
}

/** Methods whose requests have `content-length: 0` when they have no body. */
const WITH_BODY: ReadonlySet<string> = new Set(["POST", "PUT", "PATCH"]);

function lengthOf(pieces: readonly Uint8Array[] | undefined, method: string): readonly string[] {
  if (!pieces && !WITH_BODY.has(method)) return [];
  return ["content-length", String(bytesOf(pieces ?? []))];
}

const bytesOf = (pieces: readonly Uint8Array[]): number => pieces.reduce((sum, { length }) => sum + length, 0);

/** Encodes a text here, because Node would make a second text with the headers before it and reserve three bytes for each character. */
const wholeOf = (body: string | Uint8Array): Uint8Array => (typeof body === "string" ? Buffer.from(body) : body);

/** Headers as Node and `fetch` would set them. Throws for names and values that no header may have. */
function headersFor(url: URL, given: RequestInit["headers"]): readonly string[] {
  const asked = given instanceof Headers ? given : new Headers(given);
  const all: string[] = [];
  if (!asked.has("host")) all.push("host", url.host);
  if (!asked.has("accept")) all.push("accept", "*/*");
  for (const [name, value] of asked) if (name !== "content-length") all.push(name, value);
  return all;
}

const isComplete = (body: unknown): body is string | Uint8Array | null =>
  body === null || typeof body === "string" || body instanceof Uint8Array;

/** Whether `fetch` uses the proxy that the environment names: a setting of Node. */
export function usesProxy(): boolean {
  const { NODE_USE_ENV_PROXY: asked = "0", NODE_OPTIONS: options = "" } = process.env;
  return asked !== "0" || [options, ...process.execArgv].some((option) => option.includes("--use-env-proxy"));
}

async function answerTo(request: PlainRequest, sink: TrafficSink, again: () => Promise<Response>): Promise<Response> {
  sink.begin(request.pieces ? bytesOf(request.pieces) : undefined);
  const message = await headersOf(request, sink);
  const { statusCode: status = 0, statusMessage: statusText = "", rawHeaders } = message;
  const headers = byName(rawHeaders);
  if (status >= 300 && status < 400 && headers.has("location")) {
    message.destroy();
    return again();
  }
  // After a refusal the SDK may send the request again, so its body is kept.
  if (status < 300) freeWhenSent(request);
  sink.answered(status, headers, request.url.origin);
  const body = plainBody(new HttpBody(decoded(message, encodingOf(status, headers)), request.signal, sink), sink);
  const text = async (): Promise<string> => {
    const parts: Uint8Array[] = [];
    for await (const part of body) parts.push(part);
    return Buffer.concat(parts).toString("utf8");
  };
  const answer: Answer = {
    ok: status >= 200 && status < 300,
    status,
    statusText,
    url: request.url.href,
    headers: new AnswerHeaders(headers),
    body,
    text,
    json: async () => JSON.parse(await text()),
  };
  if (!isResponse(answer)) throw new TypeError("an answer without a status");
  return answer;
}

/** Headers by their names in lower case. Of several with one name, the last one. */
function byName(raw: readonly string[]): ReadonlyMap<string, string> {
  const headers = new Map<string, string>();
  for (let at = 0; at + 1 < raw.length; at += 2) headers.set(raw[at]?.toLowerCase() ?? "", raw[at + 1] ?? "");
  return headers;
}

/** A server may answer before it has read the whole request. */
function freeWhenSent({ sent, body }: PlainRequest): void {
  background(
    "freeing a sent request",
    sent.promise.then(() => free(body)),
  );
}

/** An answer without a body may have the header all the same. */
function encodingOf(status: number, headers: ReadonlyMap<string, string>): string | undefined {
  const isEmpty = status === 204 || headers.get("content-length") === "0";
  return isEmpty ? undefined : headers.get("content-encoding");
}

function headersOf(request: PlainRequest, sink: TrafficSink): Promise<http.IncomingMessage> {
  const { url, method, headers, pieces = [], signal, sent } = request;
  const client = CLIENTS.get(url.protocol);
  const { promise, resolve, reject } = Promise.withResolvers<http.IncomingMessage>();
  if (!client) throw new TypeError(`no client for ${url.protocol}`);
  if (signal?.aborted) throw asError(signal.reason);
  const { protocol, hostname, port, pathname, search } = url;
  const outgoing = client.request({
    protocol,
    hostname: hostname.startsWith("[") ? hostname.slice(1, -1) : hostname,
    ...(port !== "" && { port }),
    path: pathname + search,
    method,
    headers,
    agent: client.agent,
  });
  const abort = (): void => void outgoing.destroy(asError(signal?.reason));
  signal?.addEventListener("abort", abort, { once: true });
  let isAnswered = false;
  outgoing.once("response", (message) => {
    isAnswered = true;
    signal?.removeEventListener("abort", abort);
    resolve(message);
  });
  outgoing.on("error", (error) => {
    signal?.removeEventListener("abort", abort);
    // The answer may be whole although the request was not read to its end. If it is not, its body reports that.
    if (isAnswered) return;
    if (signal?.aborted) return reject(asError(signal.reason));
    sink.broken(networkErrorText(error));
    reject(new TypeError("fetch failed", { cause: error }));
  });
  // Node drops the connection without an error when the server answers with another protocol (status 101).
  outgoing.once("upgrade", (_message, socket) => {
    socket.destroy();
    outgoing.emit("error", new Error("bad upgrade: other side closed"));
  });
  // Corked, the pieces become one packet where their size allows.
  outgoing.cork();
  for (const piece of pieces) outgoing.write(piece);
  outgoing.end(() => sent.resolve());
  return promise;
}
