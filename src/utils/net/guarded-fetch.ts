import type { Agent, Dispatcher } from "undici";
import { checkedLookup, checkedUrl, refusalIn } from "./guard.ts";
import type { HostRules } from "./host-rules.ts";
import { FetchRefused, type Resolve } from "./safe-fetch.ts";
import { loadUndici } from "./undici.ts";

export interface GuardOptions extends HostRules {
  /** Most bytes of an answer; of one event when the answer is a stream of events. */
  readonly maxBytes: number;
  /** The system's resolver unless given. */
  readonly resolve?: Resolve;
}

type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

/** A `fetch` for servers that the config names, and its connections. */
export interface GuardedFetch {
  readonly fetch: Fetch;
  close(): Promise<void>;
}

/** Connections to one server at the same time; further requests wait. */
const MOST_CONNECTIONS = 64;

const NO_BODY = new Set([101, 204, 205, 304]);

/**
 * A `fetch` that connects only to public hosts and to hosts that `options` allow. Each request checks the name of its
 * host, resolves it, checks every address, and connects to one of these addresses. It follows no redirect: its caller
 * sees the answer and asks anew, so that the next address is checked too. Rejects with `FetchRefused`.
 */
export async function guardedFetch(options: GuardOptions): Promise<GuardedFetch> {
  const { Agent: Dispatcher, request } = await loadUndici();
  // Answers of events come whenever the server has one.
  const agent: Agent = new Dispatcher({
    connect: { lookup: checkedLookup(options) },
    connections: MOST_CONNECTIONS,
    bodyTimeout: 0,
    headersTimeout: 0,
  });
  return {
    async fetch(address, init = {}) {
      const url = checkedUrl(address, options);
      try {
        return await answered(await request(url, { ...requestOf(init), dispatcher: agent }), options);
      } catch (error) {
        throw refusalIn(error) ?? error;
      }
    },
    close: () => agent.destroy(),
  };
}

const METHODS = ["GET", "POST", "DELETE"] as const;

function requestOf({ method = "GET", headers, body: given, signal }: RequestInit) {
  const body = given instanceof URLSearchParams ? given.toString() : given;
  const known = METHODS.find((one) => one === method.toUpperCase());
  const isSent = typeof body === "string" || body instanceof Uint8Array;
  if (!known || (body !== undefined && body !== null && !isSent))
    throw new Error("a guarded request is GET, POST or DELETE, and its body is text, bytes or a form");
  return {
    method: known,
    headers: Object.fromEntries(new Headers(headers)),
    ...(isSent && { body }),
    ...(signal && { signal }),
  };
}

async function answered(
  { statusCode: status, headers, body }: Dispatcher.ResponseData,
  { maxBytes }: GuardOptions,
): Promise<Response> {
  const given = Object.entries(headers).flatMap(([name, value]) =>
    [value ?? []].flat().map((one): [string, string] => [name, one]),
  );
  if (NO_BODY.has(status)) {
    await body.dump();
    return new Response(null, { status, headers: given });
  }
  const isEvents = String(headers["content-type"] ?? "").includes("text/event-stream");
  return new Response(limited(body, maxBytes, isEvents), { status, headers: given });
}

/** An event ends with an empty line. */
const EVENT_END = /\n\r?\n/;

async function* limited(body: AsyncIterable<Uint8Array>, most: number, isEvents: boolean): AsyncGenerator<Uint8Array> {
  let length = 0;
  for await (const part of body) {
    const endsEvent = isEvents && EVENT_END.test(Buffer.from(part).toString("latin1"));
    length = endsEvent ? 0 : length + part.byteLength;
    if (length > most) throw new FetchRefused("too-large", `the answer has more than ${most} bytes`);
    yield part;
  }
}
