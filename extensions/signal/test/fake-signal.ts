/**
 * A `signal-cli daemon --http`. As the real one, it keeps the last 1,000 events in its memory, and only there; with `receiving` it
 * receives while somebody listens, and notices that a listener has gone only as it writes the next sign of life.
 * Addresses, codes and the buffer of events: man page signal-cli-jsonrpc(5) and
 * `org.asamk.signal.http.{HttpServerHandler,SseEventBuffer}`; error codes and results:
 * `jsonrpc.SignalJsonRpcCommandHandler`, `json.JsonSendMessageResult`, `util.SendMessageResultUtils`; shapes of events:
 * the records of `org.asamk.signal.json`; parameters: `org.asamk.signal.commands.*` (https://github.com/AsamK/signal-cli).
 */
import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { text as readText } from "node:stream/consumers";
import { ADA, SELF, SignalAccount } from "./signal-account.ts";
import type { Accounts, Fault, Params } from "./signal-account.ts";

export { ADA, SELF } from "./signal-account.ts";
export type { FakeMessage, Fault } from "./signal-account.ts";

interface StoredEvent {
  readonly sequence: number;
  readonly data: string;
}

export interface FakeOptions {
  readonly port?: number;
  /** Numbers of a daemon that was started without an account. Absent: started only for `self`. */
  readonly accounts?: Accounts;
  /** Versions before event ids deliver each event once. */
  readonly withoutIds?: boolean;
  readonly keepAliveMs?: number;
  /** Called when the first listener comes and when the last one is known to be gone, as `--receive-mode manual` receives. */
  readonly receiving?: (isReceiving: boolean) => void;
}

/** `SseEventBuffer.MAX_EVENTS`. */
const MOST_EVENTS = 1000;

/** Starts one on a free port. It outlives the gateways that talk to it. */
export async function startFakeSignal(options: FakeOptions = {}): Promise<FakeSignal> {
  const fake = new FakeSignal(options);
  await fake.listen(options.port ?? 0);
  return fake;
}

export class FakeSignal extends SignalAccount {
  /** Headers and queries of each request for events. */
  readonly listened: { readonly after: string | undefined; readonly query: string }[] = [];
  readonly #options: FakeOptions;
  readonly #server = createServer((request, response) => void this.#serve(request, response));
  readonly #events: StoredEvent[] = [];
  readonly #open = new Set<ServerResponse>();
  readonly #faults: { readonly method: string; readonly fault: Fault }[] = [];
  readonly #prefix = `${Date.now()}-`;
  #sequence = 0;
  #handlers = 0;
  #acknowledged = 0;
  #delivered = 0;
  #drops = 0;
  #hangs = 0;
  #gone = false;

  constructor(options: FakeOptions) {
    super(options.accounts);
    this.#options = options;
  }

  async listen(port: number): Promise<void> {
    this.#server.listen(port, "127.0.0.1");
    await once(this.#server, "listening");
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** An event arrives from Signal. */
  emit(envelope: Params, more: Params = {}): void {
    const data = JSON.stringify({ account: SELF.number, envelope, ...more });
    const event = { sequence: ++this.#sequence, data };
    this.#events.push(event);
    if (this.#events.length > MOST_EVENTS) this.#events.shift();
    for (const stream of this.#open) this.#write(stream, event);
  }

  /** Ada, or `from`, writes. Returns the timestamp. */
  say(message: string | null, data: Params = {}, from: Params = {}): number {
    const timestamp = this.now();
    this.emit({
      ...sender(timestamp),
      ...from,
      dataMessage: { timestamp, message, expiresInSeconds: 0, viewOnce: false, ...data },
    });
    return timestamp;
  }

  edit(targetSentTimestamp: number, message: string, data: Params = {}): void {
    const timestamp = this.now();
    const dataMessage = { timestamp, message, expiresInSeconds: 0, viewOnce: false, ...data };
    this.emit({ ...sender(timestamp), editMessage: { targetSentTimestamp, dataMessage } });
  }

  /** The last event once more, as after a reconnect. */
  redeliver(): void {
    const event = this.#events.at(-1);
    if (event) for (const stream of this.#open) this.#write(stream, event);
  }

  /** Writes raw text to the open streams. */
  raw(text: string): void {
    for (const stream of this.#open) stream.write(text);
  }

  /** Events that a new listener gets again. */
  get unacknowledged(): number {
    return this.#sequence - this.#acknowledged;
  }

  get listeners(): number {
    return this.#open.size;
  }

  fail(method: string, fault: Fault, count = 1): void {
    for (let n = 0; n < count; n += 1) this.#faults.push({ method, fault });
  }

  /** Breaks the stream, or the next attempts to open one: `count` in all. */
  dropStreams(count: number): void {
    this.#drops += count;
    for (const stream of this.#open) {
      this.#drops -= 1;
      stream.destroy();
    }
  }

  /** The account was unlinked: `getManagerFromQuery` finds none. */
  unlink(): void {
    this.#gone = true;
    for (const stream of this.#open) stream.destroy();
  }

  /** Breaks the stream; takes the next requests for events and never answers. */
  hangStreams(count: number): void {
    this.#hangs += count;
    for (const stream of this.#open) stream.destroy();
  }

  shown(chat: string): readonly string[] {
    return this.messages.filter((one) => one.chat === chat && !one.deleted && one.text !== "").map((one) => one.text);
  }

  /** Ends as at a SIGTERM: the streams end, and nothing is received any more. */
  async end(): Promise<void> {
    this.#options.receiving?.(false);
    const closed = [...this.#open].map(async (stream) => {
      stream.end();
      await once(stream, "close");
    });
    this.#server.close();
    await Promise.race([Promise.all(closed), new Promise((late) => setTimeout(late, 2000))]);
  }

  async close(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = once(this.#server, "close");
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "", this.url);
    switch (`${request.method} ${url.pathname}`) {
      case "GET /api/v1/check":
        return void response.writeHead(200).end();
      case "GET /api/v1/events":
        return this.#listen(request, response, url.search);
      case "POST /api/v1/rpc":
        return this.#rpc(request, response);
      default:
        response.writeHead(404).end();
    }
  }

  #listen(request: IncomingMessage, response: ServerResponse, query: string): void {
    if (this.#hangs > 0) {
      this.#hangs -= 1;
      return;
    }
    if (this.#drops > 0) {
      this.#drops -= 1;
      return void request.socket.destroy();
    }
    if (this.#gone) return void response.writeHead(400).end();
    const header = request.headers["last-event-id"];
    const after = typeof header === "string" ? header : undefined;
    this.listened.push({ after, query });
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(":\n");
    this.#count(1);
    const keepAlive = setInterval(() => {
      if (!response.destroyed && !response.writableEnded) return void response.write(":\n");
      clearInterval(keepAlive);
      this.#count(-1);
    }, this.#options.keepAliveMs ?? 15_000).unref();
    response.on("close", () => this.#open.delete(response));
    for (const event of this.#missed(after)) this.#write(response, event);
    this.#open.add(response);
  }

  #count(change: 1 | -1): void {
    const before = this.#handlers;
    this.#handlers += change;
    if (before === 0 || this.#handlers === 0) this.#options.receiving?.(this.#handlers > 0);
  }

  /** The first events for a new listener. An unknown id means all that are kept. */
  #missed(after: string | undefined): readonly StoredEvent[] {
    if (this.#options.withoutIds) return this.#events.filter(({ sequence }) => sequence > this.#delivered);
    if (after === undefined) return [];
    const sequence = after.startsWith(this.#prefix) ? Number(after.slice(this.#prefix.length)) : 0;
    this.#acknowledged = Math.max(this.#acknowledged, sequence);
    return this.#events.filter((event) => event.sequence > sequence);
  }

  #write(stream: ServerResponse, event: StoredEvent): void {
    this.#delivered = Math.max(this.#delivered, event.sequence);
    if (this.#options.withoutIds) this.#acknowledged = this.#delivered;
    const id = this.#options.withoutIds ? "" : `id:${this.#prefix}${event.sequence}\n`;
    stream.write(`${id}event:receive\ndata:${event.data}\n\n`);
  }

  async #rpc(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (!request.headers["content-type"]?.startsWith("application/json")) return void response.writeHead(415).end();
    const { id, method, params } = JSON.parse(await readText(request)) as {
      id: number;
      method: string;
      params: Params;
    };
    const at = this.#faults.findIndex((fault) => fault.method === method);
    const fault = at === -1 ? undefined : this.#faults.splice(at, 1)[0]?.fault;
    if (fault === "drop") return void request.socket.destroy();
    if (fault === "500") return void response.writeHead(500).end();
    if (fault === "hang") return;
    const answer = this.answer(method, params, fault);
    if (fault === "lost") return void request.socket.destroy();
    // Errors too come with status 200.
    response
      .writeHead(200, { "content-type": "application/json" })
      .end(JSON.stringify({ jsonrpc: "2.0", ...answer, id }));
  }
}

export function sender(timestamp: number, from: { number: string; uuid: string; name: string } = ADA): Params {
  return {
    source: from.number,
    sourceNumber: from.number,
    sourceUuid: from.uuid,
    sourceName: from.name,
    sourceDevice: 1,
    timestamp,
    serverReceivedTimestamp: timestamp + 5,
    serverDeliveredTimestamp: timestamp + 9,
  };
}
