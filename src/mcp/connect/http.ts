import type { OAuthClientProvider } from "@modelcontextprotocol/sdk/client/auth.js";
import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import type { RequestOptions } from "@modelcontextprotocol/sdk/shared/protocol.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { guardedFetch, type GuardedFetch } from "../../utils/net/guarded-fetch.ts";
import type { Resolve } from "../../utils/net/safe-fetch.ts";
import type { Log } from "../../types/log.ts";
import type { McpServerConfig } from "../config.ts";
import { fetchWithLogin, LoginFile } from "../oauth/login-file.ts";
import { mcpLoginProvider } from "../oauth/provider.ts";
import { background } from "../../utils/background.ts";
import { Traffic } from "./traffic.ts";

export interface HttpOptions {
  readonly maxBytes: number;
  readonly log: Pick<Log, "error">;
  readonly resolve?: Resolve | undefined;
  readonly stateDir: string;
}

/** A connection over HTTP. */
export interface HttpLink {
  readonly client: Client;
  /** Why the gateway ended the connection; undefined where it did not. */
  why(): string | undefined;
  /** Ends the session at the server and closes the connections. Never rejects. */
  close(): Promise<void>;
}

/** Status codes with which a server says that it does not know the streamable transport. */
const NOT_STREAMABLE = new Set([400, 404, 405]);
const GOODBYE_MS = 2000;

/**
 * Connects to a server over HTTP, with the transport of the config, or else with one that the server accepts. Rejects
 * when that fails.
 */
export async function connectHttp(
  makeClient: () => Promise<Client>,
  { name, config }: { readonly name: string; readonly config: McpServerConfig },
  options: HttpOptions,
  request: RequestOptions,
): Promise<HttpLink> {
  const url = new URL(config.url ?? "");
  const guard = await guardedFetch({
    maxBytes: options.maxBytes,
    privateHosts: config.ssrfPolicy.allowedHostnames,
    allowPrivate: config.ssrfPolicy.dangerouslyAllowPrivateNetwork,
    ...(options.resolve && { resolve: options.resolve }),
  });
  const headers = Object.fromEntries(Object.entries(config.headers).map(([name, value]) => [name, value.reveal()]));
  const flood = new FloodGuard(options.log);
  const login = await loginAt(name, config, options.stateDir);
  const fetch = login ? fetchWithLogin(guard.fetch, url, Object.keys(headers), login.renew) : guard.fetch;
  const how = {
    how: { fetch: flood.counting(fetch), requestInit: { headers }, ...(login && { authProvider: login.provider }) },
    request,
    flood,
  };
  try {
    if (config.transport === "sse") return await overSse(makeClient, url, guard, how);
    return await overStreamable(makeClient, url, guard, how);
  } catch (error) {
    if (config.transport !== undefined || !isNotStreamable(error)) return await failed(guard, name, error);
  }
  try {
    return await overSse(makeClient, url, guard, how);
  } catch (error) {
    return failed(guard, name, error);
  }
}

/** The login that somebody has made at the server, unless the config has one in its headers; undefined when there is none. */
async function loginAt(
  name: string,
  config: McpServerConfig,
  stateDir: string,
): Promise<{ readonly provider: OAuthClientProvider; readonly renew: LoginFile["renew"] } | undefined> {
  if (Object.keys(config.headers).some((header) => header.toLowerCase() === "authorization")) return undefined;
  const file = new LoginFile(stateDir, name, config.url ?? "");
  const { client, tokens } = await file.read();
  if (!tokens) return undefined;
  const provider = mcpLoginProvider(file, {
    redirectUrl: client?.redirect_uris?.[0] ?? "http://127.0.0.1/callback",
    open: () => {
      throw new Error(loginText(name));
    },
  });
  return { provider, renew: (token, ask) => file.renew(token, ask) };
}

const loginText = (name: string): string => `it wants a login: run openclaw mcp login ${name}`;

async function failed(guard: GuardedFetch, name: string, error: unknown): Promise<never> {
  await guard.close();
  throw isUnauthorized(error) ? new Error(loginText(name), { cause: error }) : error;
}

const isUnauthorized = (error: unknown): boolean =>
  error instanceof Error && (error.name === "UnauthorizedError" || ("code" in error && error.code === 401));

const isNotStreamable = (error: unknown): boolean =>
  error instanceof Error && "code" in error && typeof error.code === "number" && NOT_STREAMABLE.has(error.code);

interface How {
  readonly how: {
    readonly fetch: GuardedFetch["fetch"];
    readonly requestInit: { readonly headers: Record<string, string> };
    readonly authProvider?: OAuthClientProvider;
  };
  readonly request: RequestOptions;
  readonly flood: FloodGuard;
}

async function overStreamable(
  makeClient: () => Promise<Client>,
  url: URL,
  guard: GuardedFetch,
  { how, request, flood }: How,
): Promise<HttpLink> {
  const { StreamableHTTPClientTransport } = await import("@modelcontextprotocol/sdk/client/streamableHttp.js");
  const transport = new StreamableHTTPClientTransport(url, how);
  const client = await connected(makeClient, transport, request, flood);
  return {
    client,
    why: () => flood.why,
    close: () => closed(client, guard, transport.terminateSession()),
  };
}

async function overSse(
  makeClient: () => Promise<Client>,
  url: URL,
  guard: GuardedFetch,
  { how, request, flood }: How,
): Promise<HttpLink> {
  const { SSEClientTransport } = await import("@modelcontextprotocol/sdk/client/sse.js");
  const client = await connected(makeClient, new SSEClientTransport(url, how), request, flood);
  return { client, why: () => flood.why, close: () => closed(client, guard, Promise.resolve()) };
}

async function connected(
  makeClient: () => Promise<Client>,
  transport: Transport,
  request: RequestOptions,
  flood: FloodGuard,
): Promise<Client> {
  const client = await makeClient();
  flood.watch(transport, () => client.close());
  const late = Promise.withResolvers<never>();
  const ms = request.timeout ?? GOODBYE_MS;
  const timer = setTimeout(() => late.reject(new Error(`it did not answer within ${ms / 1000} s`)), ms);
  const stop = () => late.reject(new Error("the gateway ends"));
  request.signal?.addEventListener("abort", stop, { once: true });
  if (request.signal?.aborted) stop();
  try {
    await Promise.race([client.connect(transport, request), late.promise]);
    return client;
  } catch (error) {
    await client.close();
    throw flood.why === undefined ? error : new Error(flood.why, { cause: error });
  } finally {
    clearTimeout(timer);
    request.signal?.removeEventListener("abort", stop);
  }
}

async function closed(client: Client, guard: GuardedFetch, goodbye: Promise<void>): Promise<void> {
  // A server that does not answer, or refuses, must not delay the end: it gets no further request.
  await Promise.race([
    goodbye.catch(() => undefined),
    new Promise((resolve) => setTimeout(resolve, GOODBYE_MS).unref()),
  ]);
  // The connection is closed by the guard in any case.
  await client.close().catch(() => undefined);
  await guard.close();
}

/** Streams of events that are opened in such a time: a server that closes each one at once has it opened again. */
const MOST_STREAMS = 30;
const WINDOW_MS = 10_000;

/** Ends a connection over HTTP whose server sends, or has the gateway send, more than anybody needs. */
class FloodGuard {
  /** Why the connection was ended; undefined while the server keeps to the limits. */
  why: string | undefined;
  readonly #log: Pick<Log, "error">;
  #end: () => Promise<void> = async () => undefined;
  #streams: readonly number[] = [];

  constructor(log: Pick<Log, "error">) {
    this.#log = log;
  }

  /** Counts the messages of a transport. Called before a client connects to it; `end` closes that client. */
  watch(transport: Transport, end: () => Promise<void>): void {
    const traffic = new Traffic();
    const send = transport.send.bind(transport);
    this.#end = end;
    transport.send = async (message, options) => {
      // Answers to requests that were read before the end would still be sent.
      if (this.why !== undefined) throw new Error(this.why);
      if ("method" in message && "id" in message) traffic.asked();
      await send(message, options);
    };
    transport.onmessage = (message) => this.#ended(traffic.count(message, Date.now()));
  }

  /** The same `fetch`, which opens only so many streams of events. */
  counting(fetch: GuardedFetch["fetch"]): GuardedFetch["fetch"] {
    return (url, init) => {
      if ((init?.method ?? "GET") === "GET") this.#opensStream(Date.now());
      return this.why === undefined ? fetch(url, init) : Promise.reject(new Error(this.why));
    };
  }

  #opensStream(now: number): void {
    this.#streams = [...this.#streams.filter((at) => now - at < WINDOW_MS), now];
    if (this.#streams.length > MOST_STREAMS) this.#ended("it closes its stream of events again and again");
  }

  #ended(why: string | undefined): void {
    if (why === undefined || this.why !== undefined) return;
    this.why = why;
    background("end of an MCP server", this.#end(), this.#log);
  }
}
