/**
 * A `signal-cli daemon --http` with Signal behind it, but for its memory: it keeps all events, not the last 1,000.
 * Addresses, codes and the buffer of events: man page signal-cli-jsonrpc(5) and
 * `org.asamk.signal.http.{HttpServerHandler,SseEventBuffer}`; error codes and results:
 * `jsonrpc.SignalJsonRpcCommandHandler`, `json.JsonSendMessageResult`, `util.SendMessageResultUtils`; shapes of events:
 * the records of `org.asamk.signal.json`; parameters: `org.asamk.signal.commands.*` (https://github.com/AsamK/signal-cli).
 */
import fs from "node:fs";
import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { text as readText } from "node:stream/consumers";

/** What goes wrong with a call; the last three only where something is sent. */
export type Fault = "drop" | "lost" | "500" | "hang" | "limited" | "captcha" | "unregistered" | "untrusted" | "network";

export interface FakeMessage {
  readonly chat: string;
  readonly timestamp: number;
  text: string;
  styles: readonly string[];
  readonly attachments: readonly { readonly uri: string; readonly bytes: Buffer }[];
  readonly params: Readonly<Record<string, unknown>>;
  deleted: boolean;
  edits: number;
}

interface StoredEvent {
  readonly sequence: number;
  readonly data: string;
}

export interface FakeOptions {
  readonly port?: number;
  /** Numbers of a daemon that was started without an account. Absent: started for `self` alone. */
  readonly accounts?: readonly { readonly number: string | null; readonly aci?: string }[];
  /** Versions before event ids deliver each event once. */
  readonly withoutIds?: boolean;
  readonly keepAliveMs?: number;
}

type Params = Record<string, unknown>;
class RpcError extends Error {
  readonly code: number;
  readonly response: unknown;
  constructor(code: number, message: string, response?: unknown) {
    super(message);
    this.code = code;
    this.response = response;
  }
}

export const SELF = { number: "+15550009999", uuid: "99999999-9999-4999-8999-999999999999" };
export const ADA = { number: "+15550001001", uuid: "11111111-1111-4111-8111-111111111111", name: "Ada Byron" };

const ANSWERS: Readonly<Record<string, unknown>> = {
  listDevices: [{ id: 1, name: null, createdTimestamp: 0, lastSeenTimestamp: 0 }],
  getUserStatus: [{ recipient: SELF.number, number: SELF.number, uuid: SELF.uuid, isRegistered: true }],
};

/** Starts one on a free port. It outlives the gateways that talk to it. */
export async function startFakeSignal(options: FakeOptions = {}): Promise<FakeSignal> {
  const fake = new FakeSignal(options);
  await fake.listen(options.port ?? 0);
  return fake;
}

export class FakeSignal {
  readonly messages: FakeMessage[] = [];
  readonly calls: { readonly method: string; readonly params: Params }[] = [];
  readonly reactions = new Map<string, string[]>();
  readonly attachments = new Map<string, Buffer>();
  /** Headers and queries of each time events were asked for. */
  readonly listened: { readonly after: string | undefined; readonly query: string }[] = [];
  readonly #options: FakeOptions;
  readonly #server = createServer((request, response) => void this.#serve(request, response));
  readonly #events: StoredEvent[] = [];
  readonly #open = new Set<ServerResponse>();
  readonly #faults: { readonly method: string; readonly fault: Fault }[] = [];
  readonly #prefix = `${Date.now()}-`;
  #acknowledged = 0;
  #delivered = 0;
  #drops = 0;
  #hangs = 0;
  #gone = false;
  #lastTime = 0;

  constructor(options: FakeOptions) {
    this.#options = options;
  }

  async listen(port: number): Promise<void> {
    this.#server.listen(port, "127.0.0.1");
    await once(this.#server, "listening");
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Signal has no two messages of one person with one timestamp. */
  now(): number {
    this.#lastTime = Math.max(Date.now(), this.#lastTime + 1);
    return this.#lastTime;
  }

  /** Something came from Signal. */
  emit(envelope: Params, more: Params = {}): void {
    const data = JSON.stringify({ account: SELF.number, envelope, ...more });
    const event = { sequence: this.#events.length + 1, data };
    this.#events.push(event);
    for (const stream of this.#open) this.#write(stream, event);
  }

  /** Ada writes, or `from`. Gives back the timestamp. */
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

  /** Writes to the open streams as it is. */
  raw(text: string): void {
    for (const stream of this.#open) stream.write(text);
  }

  /** Events that come again to somebody who connects. */
  get unacknowledged(): number {
    return this.#events.length - this.#acknowledged;
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
    const keepAlive = setInterval(() => response.write(":\n"), this.#options.keepAliveMs ?? 15_000);
    response.on("close", () => {
      clearInterval(keepAlive);
      this.#open.delete(response);
    });
    for (const event of this.#missed(after)) this.#write(response, event);
    this.#open.add(response);
  }

  /** What a new listener is told first. An unknown id means: all that is kept. */
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
    const answer = this.#answer(method, params, fault);
    if (fault === "lost") return void request.socket.destroy();
    // Errors too come with status 200.
    response
      .writeHead(200, { "content-type": "application/json" })
      .end(JSON.stringify({ jsonrpc: "2.0", ...answer, id }));
  }

  #answer(method: string, params: Params, fault: Fault | undefined): Params {
    this.calls.push({ method, params });
    try {
      return { result: this.#run(method, params, fault) };
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
      const data = error.response === undefined ? null : { response: error.response };
      return { error: { code: error.code, message: error.message, data } };
    }
  }

  #run(method: string, params: Params, fault: Fault | undefined): unknown {
    const { accounts } = this.#options;
    if (method === "listAccounts") {
      if (!accounts) throw new RpcError(-32_601, "Method not implemented");
      return accounts;
    }
    if (accounts && method === "startLink") return { deviceLinkUri: "sgnl://linkdevice?uuid=X&pub_key=X" };
    if (accounts && method === "finishLink") return { number: SELF.number, aci: SELF.uuid };
    if (accounts && !accounts.some(({ number, aci }) => [number, aci].includes(String(params["account"])))) {
      throw new RpcError(-32_602, "Specified account does not exist");
    }
    return this.#served(method, params, fault);
  }

  #served(method: string, params: Params, fault: Fault | undefined): unknown {
    if (fault === "network" && method !== "send") throw new RpcError(-3, "Failed to connect (ConnectException)");
    switch (method) {
      case "send":
      case "remoteDelete":
      case "sendReaction":
        return this.#send(method, params, fault);
      case "sendTyping":
      case "sendReceipt":
        return { timestamp: this.now(), results: [result(params, "SUCCESS")] };
      case "getAttachment":
        return this.#file(params["id"]);
      case "getSticker":
        return this.#file(params["packId"]);
      default:
        if (!Object.hasOwn(ANSWERS, method)) throw new RpcError(-32_601, "Method not implemented");
        return ANSWERS[method];
    }
  }

  #file(id: unknown): unknown {
    const bytes = typeof id === "string" ? this.attachments.get(id) : undefined;
    if (!bytes) throw new RpcError(-32_603, "An error occurred reading attachment");
    return { data: bytes.toString("base64") };
  }

  #send(method: string, params: Params, fault: Fault | undefined): unknown {
    const timestamp = this.now();
    const chat = chatOf(params);
    if (fault && fault !== "lost") throw refusal(fault, timestamp, params);
    if (method === "sendReaction") this.#react(params);
    else if (method === "remoteDelete") this.#own(params["targetTimestamp"]).deleted = true;
    else this.#speak(params, chat, timestamp);
    return { timestamp, results: [result(params, "SUCCESS")] };
  }

  #speak(params: Params, chat: string, timestamp: number): void {
    const text = typeof params["message"] === "string" ? params["message"] : "";
    const styles = list(params["textStyle"]);
    for (const style of styles) {
      const [, start, length] = /^(\d+):(\d+):(?:BOLD|ITALIC|STRIKETHROUGH|SPOILER|MONOSPACE)$/.exec(style) ?? [];
      if (start === undefined)
        throw new RpcError(-1, `Invalid textStyle syntax (${style}) expected 'start:length:STYLE'`);
      if (Number(start) + Number(length) > text.length) throw new RpcError(-32_603, "style out of range");
    }
    if (params["editTimestamp"] !== undefined) {
      const message = this.#own(params["editTimestamp"]);
      message.text = text;
      message.styles = styles;
      message.edits += 1;
      return;
    }
    const attachments = list(params["attachments"]).map(readAttachment);
    if (text === "" && attachments.length === 0) throw new RpcError(-1, "Sending empty message is not allowed");
    this.messages.push({ chat, timestamp, text, styles, attachments, params, deleted: false, edits: 0 });
  }

  #react(params: Params): void {
    const key = String(params["targetTimestamp"]);
    if (typeof params["emoji"] !== "string") throw new RpcError(-1, "emoji is required");
    this.reactions.set(key, params["remove"] === true ? [] : [params["emoji"]]);
  }

  #own(timestamp: unknown): FakeMessage {
    const message = this.messages.find((one) => one.timestamp === timestamp);
    if (!message) throw new RpcError(-1, `no message of ours at ${String(timestamp)}`);
    return message;
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

const list = (value: unknown): readonly string[] => (Array.isArray(value) ? value.map(String) : []);

function chatOf(params: Params): string {
  const [recipient] = list(params["recipient"]);
  const chat = params["groupId"] ?? recipient;
  if (typeof chat !== "string" || chat === "") throw new RpcError(-1, "No recipients given");
  return chat;
}

function result(params: Params, type: string, more: Params = {}): Params {
  const to = chatOf({ ...params, recipient: [params["recipient"] ?? []].flat() });
  const number = to.startsWith("+") ? to : null;
  return { recipientAddress: { uuid: number === null ? to : null, number, username: null }, type, ...more };
}

function refusal(fault: Fault, timestamp: number, params: Params): RpcError {
  const report = (type: string, more: Params = {}): Params => ({ timestamp, results: [result(params, type, more)] });
  switch (fault) {
    case "limited":
      return new RpcError(
        -5,
        "Failed to send message due to rate limiting",
        report("RATE_LIMIT_FAILURE", { retryAfterSeconds: 1 }),
      );
    case "captcha":
      return new RpcError(
        -5,
        "Failed to send message due to rate limiting",
        report("RATE_LIMIT_FAILURE", { token: "abc-challenge", retryAfterSeconds: 86_400 }),
      );
    case "untrusted":
      return new RpcError(-4, "Failed to send message due to untrusted identities", report("IDENTITY_FAILURE"));
    case "network":
      return new RpcError(-1, "Failed to send message", report("NETWORK_FAILURE"));
    default:
      return new RpcError(-1, "Failed to send message", report("UNREGISTERED_FAILURE"));
  }
}

/** A data address as `DataURI` reads it, or a file of this machine. */
function readAttachment(uri: string): { uri: string; bytes: Buffer } {
  const [, data] = /^data:[\w/+.-]+(?:;filename=[^;,]+)?;base64,(.*)$/s.exec(uri) ?? [];
  if (data !== undefined) return { uri, bytes: Buffer.from(data, "base64") };
  if (!uri.startsWith("/")) throw new RpcError(-32_603, `Failed to send message: ${uri} (AttachmentInvalidException)`);
  return { uri, bytes: fs.readFileSync(uri) };
}
