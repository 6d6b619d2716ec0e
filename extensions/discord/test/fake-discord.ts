import http from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { WebSocketServer } from "ws";
import { FakeGateway } from "./fake-gateway.ts";
import { readJson, textIn, type Json } from "./json.ts";
import { FakeWorld } from "./fake-world.ts";
import type { RestCall, RestResult, Speaker } from "./rest-shapes.ts";

export type { Speaker } from "./rest-shapes.ts";

/** One REST call as a client made it. */
export interface DiscordCall {
  readonly method: string;
  /** Without `/api/v10`. */
  readonly path: string;
  readonly body: Json;
  readonly files: readonly { readonly name: string; readonly bytes: Uint8Array }[];
  readonly status: number;
  readonly at: number;
}

/** `drop`: the connection drops before anything is done; `lost`: after. `hang`: nothing is done and no answer comes. */
export type Fault = "429" | "500" | "502" | "403" | "drop" | "lost" | "hang";

/** Which calls fail: the next `count` whose `METHOD /path` fits; sends of messages unless said otherwise. A limit is for `seconds`. */
interface Failing {
  readonly count?: number;
  readonly fits?: RegExp;
  readonly seconds?: number;
}

export interface DiscordMoment {
  readonly method: string;
  readonly path: string;
  readonly text: string;
  readonly stage: "arrived" | "done";
}

export interface FakeDiscord {
  /** Settings that lead here. */
  readonly config: { readonly token: string; readonly apiUrl: string; readonly cdnUrl: string };
  readonly token: string;
  readonly world: FakeWorld;
  readonly gateway: FakeGateway;
  /** A person writes in a channel, thread or direct channel; gives back the message's id. */
  say(channel: string, text: string, how?: Speaker): string;
  /** Calls, oldest first. */
  readonly calls: readonly DiscordCall[];
  /** Texts of the bot in a channel, as people see them. */
  shown(channel: string): readonly string[];
  /** The first call, made or to come, that fits. Rejects after `timeoutMs` (30 s). */
  waitFor(fits: (call: DiscordCall) => boolean, timeoutMs?: number): Promise<DiscordCall>;
  fail(mode: Fault, how?: Failing): void;
  heal(): void;
  /** Gets every call: when it arrived, and when it had its effect, before it is answered. */
  tap(listener: (moment: DiscordMoment) => void): void;
  /** Drops every connection and refuses new ones. */
  goDown(): Promise<void>;
  /** Answers again, under the same address. */
  comeBack(): Promise<void>;
  close(): Promise<void>;
}

type Refusal = Exclude<Fault, "drop" | "lost" | "hang">;
const isRefusal = (fault: Fault | undefined): fault is Refusal => fault !== undefined && /^\d/.test(fault);

const SENDS = /^POST \/channels\/\d+\/messages$|^PATCH \/webhooks\//;

/**
 * Discord's REST API, gateway and CDN on one port. It outlives the clients that connect to it: a session of the gateway
 * continues where a client says that it stopped, as docs.discord.com/developers/events/gateway#resuming has it. REST shapes are
 * those of docs.discord.com/developers/resources, errors of docs.discord.com/developers/topics/opcodes-and-status-codes.
 */
export async function startFakeDiscord(): Promise<FakeDiscord> {
  const fake = new Fake();
  await fake.comeBack();
  return fake;
}

class Fake implements FakeDiscord {
  readonly token = "MTIz.fake.discord-token";
  readonly world = new FakeWorld();
  readonly gateway = new FakeGateway(this.world, this.token);
  readonly calls: DiscordCall[] = [];
  readonly #waiting = new Set<() => void>();
  readonly #listeners: ((moment: DiscordMoment) => void)[] = [];
  readonly #sockets = new WebSocketServer({ noServer: true });
  #faults: { mode: Fault; fits: RegExp; left: number; seconds: number }[] = [];
  #server = http.createServer();
  #port = 0;

  get #url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  get config(): FakeDiscord["config"] {
    return { token: this.token, apiUrl: `${this.#url}/api`, cdnUrl: this.#url };
  }

  say(channel: string, text: string, how: Speaker = {}): string {
    const message = this.world.write(channel, text, how);
    if (!how.unheard) this.gateway.dispatch("MESSAGE_CREATE", this.world.told(message));
    return String(message["id"]);
  }

  shown(channel: string): readonly string[] {
    return this.world
      .messages(channel)
      .filter((message) => this.world.isOwn(message))
      .map((message) => String(message["content"]))
      .filter((text) => text !== "");
  }

  async waitFor(fits: (call: DiscordCall) => boolean, timeoutMs = 30_000): Promise<DiscordCall> {
    const late = AbortSignal.timeout(timeoutMs);
    for (;;) {
      const found = this.calls.find(fits);
      if (found) return found;
      await new Promise<void>((resolve, reject) => {
        this.#waiting.add(resolve);
        late.addEventListener("abort", () => reject(new Error("no such call")), { once: true });
      });
    }
  }

  fail(mode: Fault, { count = 1, fits = SENDS, seconds = 1 }: Failing = {}): void {
    this.#faults.push({ mode, fits, left: count, seconds });
  }

  heal(): void {
    this.#faults = [];
  }

  tap(listener: (moment: DiscordMoment) => void): void {
    this.#listeners.push(listener);
  }

  async goDown(): Promise<void> {
    this.gateway.drop();
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }

  async comeBack(): Promise<void> {
    const server = http.createServer((request, answer) => {
      this.#answer(request, answer).catch((error: unknown) => answer.destroy(error as Error));
    });
    server.on("upgrade", (request, socket, head) => {
      if (this.gateway.refuses()) socket.destroy();
      else this.#sockets.handleUpgrade(request, socket, head, (client) => this.gateway.greet(client));
    });
    await new Promise<void>((resolve) => server.listen(this.#port, "127.0.0.1", resolve));
    this.#port = (server.address() as AddressInfo).port;
    this.world.url = this.#url;
    this.#server = server;
  }

  async close(): Promise<void> {
    if (this.#server.listening) await this.goDown();
  }

  async #answer(request: IncomingMessage, answer: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "/", this.#url);
    const file = this.world.files.get(url.pathname);
    if (file) {
      answer.end(file);
      return;
    }
    const path = url.pathname.replace(/^\/api\/v10/, "");
    const call = { method: request.method ?? "GET", path, query: url.searchParams, ...(await readBody(request)) };
    this.#tell(call, "arrived");
    const { mode: fault, seconds = 0 } = this.#strike(`${call.method} ${path}`) ?? {};
    if (fault === "hang") return;
    if (isRefusal(fault)) return this.#refuse(fault, seconds, answer);
    const result = fault === "drop" ? undefined : this.#do(call, this.#isKnown(request, path));
    if (fault === "lost" || !result) {
      answer.destroy();
      return;
    }
    const isEmpty = result.json === undefined;
    answer.writeHead(result.status, isEmpty ? {} : { "content-type": "application/json" });
    answer.end(isEmpty ? undefined : JSON.stringify(result.json));
  }

  #do(call: RestCall, isKnown: boolean): RestResult {
    const result = isKnown ? this.world.rest(call) : { status: 401, json: { message: "401: Unauthorized", code: 0 } };
    for (const event of result.events ?? []) this.gateway.dispatch(event.name, event.data);
    const { method, path, body, files } = call;
    this.calls.push({ method, path, body, files, status: result.status, at: Date.now() });
    this.#tell(call, "done");
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
    return result;
  }

  #tell({ method, path, body }: RestCall, stage: DiscordMoment["stage"]): void {
    for (const listener of this.#listeners) listener({ method, path, text: textIn(body, "content"), stage });
  }

  /** Addresses that hold a token need no other. */
  #isKnown(request: IncomingMessage, path: string): boolean {
    return request.headers.authorization === `Bot ${this.token}` || /^\/(?:webhooks|interactions)\//.test(path);
  }

  #strike(call: string): { readonly mode: Fault; readonly seconds: number } | undefined {
    const fault = this.#faults.find(({ fits, left }) => left > 0 && fits.test(call));
    if (fault) fault.left--;
    return fault;
  }

  /** docs.discord.com/developers/topics/rate-limits: a limit that others share comes without the headers of a bucket. */
  #refuse(fault: Refusal, seconds: number, answer: ServerResponse): void {
    const bodies = {
      429: { message: "The resource is being rate limited.", retry_after: seconds, global: false },
      500: { message: "500: Internal Server Error", code: 0 },
      502: { message: "502: Bad Gateway", code: 0 },
      403: { message: "Missing Permissions", code: 50_013 },
    };
    const headers = fault === "429" ? { "retry-after": String(seconds), "x-ratelimit-scope": "shared" } : {};
    answer.writeHead(Number(fault), { "content-type": "application/json", ...headers });
    answer.end(JSON.stringify(bodies[fault]));
  }
}

/** Files come as a form, with the rest as JSON in it; docs.discord.com/developers/reference#uploading-files */
async function readBody(request: IncomingMessage): Promise<Pick<DiscordCall, "body" | "files">> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of request) chunks.push(chunk as Uint8Array);
  const bytes = Buffer.concat(chunks);
  const type = request.headers["content-type"] ?? "";
  if (bytes.length === 0) return { body: {}, files: [] };
  if (!type.startsWith("multipart/")) return { body: readJson(bytes.toString()), files: [] };
  const form = await new Response(bytes, { headers: { "content-type": type } }).formData();
  const files = [];
  let payload = "{}";
  for (const [, value] of form) {
    if (typeof value === "string") payload = value;
    else files.push({ name: value.name, bytes: await value.bytes() });
  }
  return { body: readJson(payload), files };
}
