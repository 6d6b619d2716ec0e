import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { webSearchConfig } from "../../../src/tools/web/search/config.ts";
import { WebSearch } from "../../../src/tools/web/search/web-search.ts";
import { runTool } from "../../../src/tools/run.ts";
import type { WebSearchContribution } from "../../../src/types/plugin/web-search.ts";
import type { ToolContext, ToolResult } from "../../../src/types/run/tool.ts";
import { requestWeb } from "../../../src/utils/net/web-request.ts";
import { textOf, toolContext } from "../../kit/tools.ts";

/** A request as a provider got it. */
export interface Got {
  readonly method: string;
  /** The host that it was meant for, and its path. */
  readonly at: string;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: IncomingMessage["headers"];
  readonly body: unknown;
}

type Answer = (got: Got, answer: ServerResponse) => void;

/** Providers of this machine: each host of the internet is a first folder of a local server. */
export class FakeInternet {
  readonly got: Got[] = [];
  readonly answers: Record<string, Answer> = {};
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async open(): Promise<FakeInternet> {
    const server = createServer();
    const internet = new FakeInternet(server);
    server.on("request", (request, answer) => void internet.#answer(request, answer));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return internet;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** `at` is a host and a path of the internet, or a path of this server. */
  json(at: string, value: unknown, status = 200, headers: Record<string, string> = {}): void {
    this.answers[at] = (_got, answer) =>
      answer.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(value));
  }

  text(at: string, text: string | Buffer, status = 200): void {
    this.answers[at] = (_got, answer) => answer.writeHead(status, { "content-type": "text/html" }).end(text);
  }

  /** In place of `requestWeb`: what is meant for the internet goes to this server. */
  readonly request: typeof requestWeb = (address, options) => {
    const url = new URL(address);
    const isHere = url.origin === this.url;
    const target = isHere ? address : `${this.url}/${url.host}${url.pathname}${url.search}`;
    return requestWeb(target, { ...options, ...(!isHere && { rules: { privateHosts: ["127.0.0.1"] } }) });
  };

  async #answer(request: IncomingMessage, answer: ServerResponse): Promise<void> {
    let body = "";
    for await (const part of request) body += String(part);
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://x");
    const at = /^\/[\w.:-]+\.\w+[:/]|^\/127\.0\.0\.1/.test(pathname) ? pathname.slice(1) : pathname;
    const got = {
      method: request.method ?? "",
      at,
      query: Object.fromEntries(searchParams),
      headers: request.headers,
      body: body === "" ? undefined : (JSON.parse(body) as unknown),
    };
    this.got.push(got);
    const found = this.answers[at];
    if (found) found(got, answer);
    else answer.writeHead(404).end("{}");
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

interface Wishes {
  readonly settings?: object;
  readonly entries?: Readonly<Record<string, { readonly config?: unknown }>>;
  readonly env?: Readonly<Record<string, string>>;
  readonly contributed?: readonly WebSearchContribution[];
  /** The internet that providers are part of; without it, requests are sent where they are meant for. */
  readonly internet?: FakeInternet;
}

export interface Call {
  readonly result: ToolResult;
  readonly text: string;
  /** The JSON that the model gets. */
  readonly told: Readonly<Record<string, unknown>>;
}

/** A search with these settings, as a run calls it. */
export function searchWith({ settings = {}, entries = {}, env = {}, contributed = [], internet }: Wishes = {}) {
  let config = webSearchConfig.parse(settings);
  const search = new WebSearch(() => ({ settings: config, entries, env, contributed }), {
    ...(internet && { request: internet.request }),
  });
  const call = async (input: object, context: ToolContext = toolContext("/work")): Promise<Call> => {
    const tool = search.tool();
    if (!tool) throw new Error("the tool is off");
    const result = await runTool(tool, input, context);
    const text = textOf(result);
    return { result, text, told: text.startsWith("{") ? (JSON.parse(text) as Call["told"]) : {} };
  };
  const change = (next: object) => {
    config = webSearchConfig.parse(next);
  };
  return { call, search, change };
}

/** The text without the markers. */
export const inside = (wrapped: unknown): string =>
  /^<<<EXTERNAL_UNTRUSTED_CONTENT id="[0-9a-f]{16}">>>\nSource: Web Search\n---\n([^]*)\n<<<END_EXTERNAL_UNTRUSTED_CONTENT id="[0-9a-f]{16}">>>$/.exec(
    String(wrapped),
  )?.[1] ?? `not wrapped: ${String(wrapped)}`;
