import {
  createServer,
  request as httpRequest,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http";
import { connect, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { errorText } from "../../utils/text/error-text.ts";
import type { CheckedHost, BrowserHostRules } from "./host-rules.ts";

/** Milliseconds without a byte after which a connection is closed. */
const IDLE_MS = 120_000;
const HOP_BY_HOP = new Set([
  "connection",
  "proxy-connection",
  "proxy-authorization",
  "keep-alive",
  "te",
  "trailer",
  "upgrade",
]);

/**
 * The only way of the browser to a network: an HTTP proxy on this machine. It resolves each host, checks its addresses and connects to the
 * one that was checked, so that redirects, frames, scripts and WebSockets of a page reach no more than the page itself.
 */
export class GuardProxy {
  readonly #rules: BrowserHostRules;
  readonly #server: Server;
  readonly #sockets = new Set<Duplex>();
  #refused = 0;
  #whyLast = "";

  constructor(rules: BrowserHostRules) {
    this.#rules = rules;
    this.#server = createServer((asked, answer) => {
      this.#forward(asked, answer).catch((error: unknown) => fail(answer, 502, errorText(error)));
    });
    this.#server.on("connect", (asked: IncomingMessage, socket: Duplex, head: Buffer) => {
      this.#tunnel(asked, socket, head).catch(() => socket.destroy());
    });
    this.#server.on("connection", (socket: Socket) => this.#keep(socket));
  }

  /** How many hosts were refused so far. */
  get refused(): number {
    return this.#refused;
  }

  /** Why the last host was refused; undefined when none was since there were `before` refusals. */
  whyRefusedSince(before: number): string | undefined {
    return this.#refused > before ? this.#whyLast : undefined;
  }

  /** Starts the proxy; resolves with its address for the browser. */
  async open(): Promise<string> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(0, "127.0.0.1", resolve);
    });
    const address = this.#server.address();
    if (address === null || typeof address === "string") throw new Error("the proxy of the browser has no port");
    return `http://127.0.0.1:${address.port}`;
  }

  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
    });
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  /** Opens a tunnel for `https:` and WebSockets, through which the browser talks to the host. */
  async #tunnel({ url = "" }: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    socket.on("error", () => socket.destroy());
    const { hostname, port } = new URL(`http://${url}`);
    const checked = await this.#check(hostname);
    if ("refused" in checked) {
      socket.end("HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n");
      return;
    }
    const upstream = connect({ host: checked.address, port: Number(port === "" ? 80 : port) });
    this.#keep(upstream);
    upstream.setTimeout(IDLE_MS, () => upstream.destroy());
    upstream.on("error", () => socket.destroy());
    upstream.on("close", () => socket.destroy());
    socket.on("close", () => upstream.destroy());
    upstream.once("connect", () => {
      socket.write("HTTP/1.1 200 Connection Established\r\n\r\n");
      if (head.length > 0) upstream.write(head);
      upstream.pipe(socket);
      socket.pipe(upstream);
    });
  }

  async #forward(asked: IncomingMessage, answer: ServerResponse): Promise<void> {
    const url = URL.parse(asked.url ?? "");
    if (url?.protocol !== "http:") return fail(answer, 400, "not a request to a proxy");
    const checked = await this.#check(url.hostname);
    if ("refused" in checked) return fail(answer, 403, checked.refused);
    const headers = Object.fromEntries(Object.entries(asked.headers).filter(([name]) => !HOP_BY_HOP.has(name)));
    const upstream = httpRequest({
      host: checked.address,
      port: url.port === "" ? 80 : Number(url.port),
      method: asked.method,
      path: `${url.pathname}${url.search}`,
      headers: { ...headers, host: url.host },
      timeout: IDLE_MS,
    });
    upstream.on("socket", (socket) => this.#keep(socket));
    upstream.on("timeout", () => upstream.destroy());
    upstream.on("error", (error) => fail(answer, 502, errorText(error)));
    upstream.on("response", (response) => {
      answer.writeHead(response.statusCode ?? 502, response.rawHeaders);
      response.pipe(answer);
    });
    answer.on("close", () => upstream.destroy());
    asked.pipe(upstream);
  }

  async #check(host: string): Promise<CheckedHost> {
    const checked = await this.#rules.check(host);
    if ("refused" in checked) {
      this.#refused += 1;
      this.#whyLast = checked.refused;
    }
    return checked;
  }

  #keep(socket: Duplex): void {
    if (this.#sockets.has(socket)) return;
    this.#sockets.add(socket);
    socket.once("close", () => this.#sockets.delete(socket));
  }
}

function fail(answer: ServerResponse, status: number, why: string): void {
  if (answer.headersSent) {
    answer.destroy();
    return;
  }
  answer.writeHead(status, { "content-type": "text/plain; charset=utf-8" });
  answer.end(why);
}
