import { AsyncLocalStorage } from "node:async_hooks";
import { subscribe } from "node:diagnostics_channel";
import type { Clock } from "../../types/clock.ts";
import { AnswerEnd } from "./answer-end.ts";
import { networkErrorText, type TrafficSink } from "./http-body.ts";
import { withWholeBody } from "./body/pieces.ts";
import { sendPlain, usesProxy } from "./http.ts";
import { withPacedBody } from "./paced.ts";

/** Enough for the last event of every provider. The whole answer is never kept. */
const TAIL_BYTES = 64 * 1024;

interface Watched {
  /** Whose streams the answers are. */
  readonly api?: string;
  readonly takesPlainBodies?: boolean;
  /** Called with the headers of each answer. Must not throw. */
  answered?(headers: ReadonlyMap<string, string>): void;
}

/**
 * The network traffic of one call. The SDK shows headers only when a call succeeds, and never the end of a stream; Node's own
 * HTTP client publishes both. Requests that do not use `fetch`, such as those of Bedrock, are not seen.
 */
export class Wire implements TrafficSink {
  status: number | undefined;
  headers: ReadonlyMap<string, string> = new Map();
  /** Time of the last bytes, also those of keep-alive comments. */
  lastByteAt = 0;
  /** Bytes of the body of the last request; undefined when they were not counted. */
  sent: number | undefined;
  /** Decoded bytes of the body that were read so far. */
  bytes = 0;
  /** Bytes that the SDK was given so far. */
  given = 0;
  /** Number of pieces in which the bytes were read. */
  pieces = 0;
  /** Why the connection broke, with its code. */
  broke: string | undefined;
  /** Called when a request failed: its refusal was read completely, or the connection broke. */
  onRefusal: (() => void) | undefined;
  /** Called before the server's redirect to another host is followed. */
  onForeignRedirect: ((host: string) => void) | undefined;
  /** Called for each piece of the body, after it was counted. */
  onBytes: (() => void) | undefined;
  /** The SDK reads of a body what `PlainBody` has. */
  readonly takesPlainBodies: boolean;
  /** Where the last answer ends. */
  end = new AnswerEnd();
  readonly #api: string | undefined;
  readonly #onHeaders: ((headers: ReadonlyMap<string, string>) => void) | undefined;
  #isReadToEnd = false;
  readonly #clock: Clock;
  #kept: Buffer[] = [];
  #size = 0;
  #hasDropped = false;

  constructor(clock: Clock, { api, takesPlainBodies = false, answered }: Watched = {}) {
    this.#api = api;
    this.#clock = clock;
    this.takesPlainBodies = takesPlainBodies;
    this.#onHeaders = answered;
  }

  /** Runs `act`. All requests that it sends, also later ones, are counted here. */
  watch<T>(act: () => T): T {
    listen();
    return calls.run(this, act);
  }

  /** A call may send several requests, such as one for a token. The last one counts. */
  begin(bytes: number | undefined): void {
    this.sent = bytes;
    this.status = undefined;
    this.headers = new Map();
    this.broke = undefined;
    this.#isReadToEnd = false;
    this.end = new AnswerEnd();
    this.bytes = 0;
    this.given = 0;
    this.pieces = 0;
    this.release();
  }

  /** The `origin` of the request. It contains keys and the conversation, so no server may redirect it elsewhere. */
  answered(status: number, headers: ReadonlyMap<string, string>, origin?: string): void {
    const target = status >= 300 && status < 400 ? headers.get("location") : undefined;
    const url = target !== undefined && URL.canParse(target, origin) ? new URL(target, origin) : undefined;
    if (url && url.origin !== origin) this.onForeignRedirect?.(url.host);
    this.status = status;
    this.headers = headers;
    if (status < 300) this.end = new AnswerEnd(this.#api);
    this.lastByteAt = this.#clock.now();
    this.#onHeaders?.(headers);
  }

  /** A piece of the body came, not decoded yet. */
  received(): void {
    this.lastByteAt = this.#clock.now();
  }

  read(chunk: Uint8Array): void {
    // A copy, because the client may use its memory again.
    this.#kept.push(Buffer.from(chunk));
    this.#size += chunk.length;
    this.bytes += chunk.length;
    this.pieces += 1;
    while (this.#size - (this.#kept[0]?.length ?? this.#size) >= TAIL_BYTES) {
      this.#size -= this.#kept.shift()?.length ?? 0;
      this.#hasDropped = true;
    }
    this.onBytes?.();
  }

  passed(bytes: number): void {
    this.given += bytes;
  }

  /** The last answer was received completely. */
  get isComplete(): boolean {
    return this.#isReadToEnd || this.end.state === "over";
  }

  /** The answer is complete. */
  readToEnd(): void {
    this.#isReadToEnd = true;
    if (this.status !== undefined && this.status >= 400) this.onRefusal?.();
  }

  /** No more will come. */
  broken(why: string): void {
    // Bytes after the answer do not count.
    if (this.end.state !== "open") return;
    this.broke = why;
    this.onRefusal?.();
  }

  /** The last bytes of the body. Undefined when there are none, or when its last event began before them. */
  tail(): string | undefined {
    if (this.status === undefined) return undefined;
    const text = Buffer.concat(this.#kept).toString("latin1");
    return this.#hasDropped && !/\ndata:/.test(text) ? undefined : text;
  }

  /** The beginning of the first bytes of the body, as Latin-1. */
  start(): string {
    return this.#kept[0]?.toString("latin1", 0, START_BYTES) ?? "";
  }

  /** Drops the kept bytes: a pooled socket may refer to this object long after the call. */
  release(): void {
    this.#kept = [];
    this.#size = 0;
    this.#hasDropped = false;
  }
}

const START_BYTES = 32;

const calls = new AsyncLocalStorage<Wire>();
/** Only the start of a request runs in the context of its caller, because sockets are shared. */
const wires = new WeakMap<object, Wire>();
let isListening = false;

function listen(): void {
  if (isListening) return;
  isListening = true;
  paceFetch();
  subscribe("undici:request:create", (news) => {
    const wire = calls.getStore();
    const request = requestIn(news);
    if (!wire || !request) return;
    wires.set(request, wire);
    wire.begin(lengthOf(request));
  });
  subscribe("undici:request:headers", (news) => {
    const wire = wireOf(news);
    if (wire && isObject(news) && "response" in news) answer(wire, news.response, originOf(news));
  });
  subscribe("undici:request:bodyChunkReceived", (news) => {
    wireOf(news)?.received();
  });
  subscribe("undici:request:error", (news) => {
    const wire = wireOf(news);
    // An end that the SDK caused is no broken connection: it cancels a stream that it cannot read.
    if (wire && isObject(news) && "error" in news && !isAbort(news.error)) wire.broken(networkErrorText(news.error));
  });
}

/** The `fetch` that was there when this module was loaded: Node's own, or one that `--import` has put in its place. */
const NATIVE = globalThis.fetch;
/** The `fetch` that sends bodies in pieces. */
let ownFetch: typeof fetch | undefined;

/** Whether the next request of this call may have a body in pieces: nothing but this module sees it. */
export const takesPieces = (): boolean =>
  calls.getStore()?.takesPlainBodies === true && globalThis.fetch === ownFetch && !usesProxy();

/** Replaces the global `fetch`, which is all that the SDKs use. Requests outside of a call are unchanged. */
function paceFetch(): void {
  const plain = globalThis.fetch;
  // A program that has replaced `fetch` since expects to see the requests.
  const isNative = plain === NATIVE;
  globalThis.fetch = async (input, init) => {
    const wire = calls.getStore();
    if (wire === undefined) return plain(input, init);
    const paced = async () => withPacedBody(await plain(input, withWholeBody(init)), wire);
    return (
      (wire.takesPlainBodies && isNative ? sendPlain(input, init, { sink: wire, again: paced }) : undefined) ?? paced()
    );
  };
  if (isNative) ownFetch = globalThis.fetch;
}

function wireOf(news: unknown): Wire | undefined {
  const request = requestIn(news);
  return request && wires.get(request);
}

function requestIn(news: unknown): object | undefined {
  return isObject(news) && "request" in news && isObject(news.request) ? news.request : undefined;
}

function lengthOf(request: object): number | undefined {
  return "contentLength" in request && typeof request.contentLength === "number" ? request.contentLength : undefined;
}

function originOf(news: unknown): string | undefined {
  const request = requestIn(news);
  if (!request || !("origin" in request)) return undefined;
  const { origin } = request;
  if (origin instanceof URL) return origin.origin;
  return typeof origin === "string" && URL.canParse(origin) ? new URL(origin).origin : undefined;
}

function answer(wire: Wire, response: unknown, origin: string | undefined): void {
  if (!isObject(response) || !("statusCode" in response) || typeof response.statusCode !== "number") return;
  const raw: readonly unknown[] = "headers" in response && Array.isArray(response.headers) ? response.headers : [];
  const headers = new Map<string, string>();
  for (let at = 0; at + 1 < raw.length; at += 2) headers.set(String(raw[at]).toLowerCase(), String(raw[at + 1]));
  wire.answered(response.statusCode, headers, origin);
}

const isAbort = (error: unknown): boolean => error instanceof Error && error.name === "AbortError";

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null;
