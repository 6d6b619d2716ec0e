import { createHmac } from "node:crypto";
import http from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { WebSocketServer } from "ws";
import type { WebSocket } from "ws";

/**
 * A Slack of our own, after docs.slack.dev: Web API answers after reference/methods/<method>, events after
 * reference/events/<type>, frames after apis/events-api/using-socket-mode, files after
 * messaging/working-with-files. It outlives the gateway: what was not acknowledged is delivered again.
 */
export interface FakeSlack {
  /** Of the Web API, with its slash. */
  readonly url: string;
  readonly botToken: string;
  readonly appToken: string;
  readonly signingSecret: string;
  readonly self: { readonly userId: string; readonly botId: string; readonly teamId: string; readonly name: string };
  /** Every call, in order. */
  readonly calls: FakeCall[];
  /** Envelopes that nobody has acknowledged. */
  readonly pending: FakeEnvelope[];
  readonly messages: FakeMessage[];
  /** Sockets that are open. */
  readonly sockets: number;
  /** Somebody writes; `isUnheard` delivers no event. Gives back the message's time. */
  say(channel: string, text: string, more?: Record<string, unknown>, isUnheard?: boolean): string;
  /** Any event, wrapped as Slack does. */
  inject(event: Record<string, unknown>): void;
  deliver(type: FakeEnvelope["type"], payload: unknown): void;
  redeliver(): void;
  upload(bytes: Uint8Array, about: { name: string; mimetype?: string }): Record<string, unknown>;
  /** What a file holds. */
  bytesOf(id: string): Uint8Array;
  /** What happens to the next calls of a method. */
  fail(method: string, how: FakeFault, count?: number): void;
  /** Cuts all sockets; so many attempts to connect fail afterwards. */
  cut(refusals?: number): void;
  /** Asks for a new socket, as Slack does every few hours. */
  rotate(reason: string): void;
  /** Stops to answer on the sockets that are open, without closing them. */
  freeze(): void;
  /** What the bot token may do, separated by commas. */
  scopes: string;
  /** The port that new sockets are sent to, where something lies between; its own at first. */
  entrance: number;
  /** What an HTTP request of Slack's looks like. */
  signed(body: string, json?: boolean, at?: number): { headers: Record<string, string>; body: Uint8Array };
  close(): Promise<void>;
}

/** `lost`: done, but the connection drops before the answer. Anything else is an error word of the Web API. */
export type FakeFault = "429" | "500" | "drop" | "lost" | (string & {});

export interface FakeCall {
  readonly method: string;
  readonly body: Readonly<Record<string, string>>;
  readonly ok: boolean;
}

export interface FakeEnvelope {
  readonly envelope_id: string;
  readonly type: "events_api" | "slash_commands" | "interactive";
  readonly payload: unknown;
  readonly retry_attempt?: number;
}

export interface FakeMessage {
  readonly channel: string;
  readonly ts: string;
  text: string;
  readonly user: string;
  readonly bot_id?: string;
  readonly thread_ts?: string;
  readonly metadata?: unknown;
  readonly files?: readonly Record<string, unknown>[];
  blocks: readonly unknown[];
  edited?: { readonly user: string; readonly ts: string };
  readonly reactions: Map<string, Set<string>>;
  readonly more: Readonly<Record<string, unknown>>;
}

export const ADA = "U1001";
const SELF = { userId: "UBOT", botId: "BBOT", teamId: "T1", name: "test_bot" };
const CHANNELS: Record<string, string> = { C9: "crew", G8: "mpdm-ada--bob-1" };
const SCOPES =
  "chat:write,app_mentions:read,im:history,channels:history,groups:history,mpim:history,channels:read,groups:read," +
  "im:read,mpim:read,im:write,users:read,files:read,files:write,reactions:read,reactions:write";

type Answer = Record<string, unknown> & { readonly ok: boolean };
type Body = Readonly<Record<string, string>>;

class Refusal extends Error {}

const list = (text: string | undefined): Record<string, unknown>[] =>
  text === undefined ? [] : (JSON.parse(text) as Record<string, unknown>[]);

class Slack {
  readonly messages: FakeMessage[] = [];
  readonly calls: FakeCall[] = [];
  readonly pending: FakeEnvelope[] = [];
  readonly files = new Map<string, { bytes: Uint8Array; about: Record<string, unknown> }>();
  readonly faults = new Map<string, { how: FakeFault; count: number }>();
  readonly sockets = new Set<WebSocket>();
  last: FakeEnvelope | undefined;
  refusals = 0;
  port = 0;
  entrance: number | undefined;
  scopes = SCOPES;
  #count = 0;

  readonly botToken = "xoxb-1-fake";
  readonly appToken = "xapp-1-fake";

  next = (): number => (this.#count += 1);
  ts = (): string => `${Math.floor(Date.now() / 1000)}.${String(this.next()).padStart(6, "0")}`;

  add(message: Partial<FakeMessage> & { channel: string; user: string; text: string }): FakeMessage {
    const made: FakeMessage = { ts: this.ts(), blocks: [], reactions: new Map(), more: {}, ...message };
    this.messages.push(made);
    return made;
  }

  find(channel: string | undefined, ts: string | undefined): FakeMessage {
    const message = this.messages.find((each) => each.channel === channel && each.ts === ts);
    if (!message) throw new Refusal("message_not_found");
    return message;
  }

  findOwn(channel: string | undefined, ts: string | undefined, otherwise: string): FakeMessage {
    const message = this.find(channel, ts);
    if (message.user !== SELF.userId) throw new Refusal(otherwise);
    return message;
  }

  /** A message as events and histories show it. */
  shape(message: FakeMessage, metadata = false): Record<string, unknown> {
    const { channel: _in, reactions, more, files, metadata: kept, ...plain } = message;
    const replies = this.messages.filter((each) => each.channel === message.channel && each.thread_ts === message.ts);
    return {
      type: "message",
      ...plain,
      ...(files && { files }),
      ...(metadata && kept !== undefined && { metadata: kept }),
      ...(replies.length > 0 && {
        thread_ts: message.ts,
        reply_count: replies.length,
        latest_reply: replies.at(-1)?.ts,
      }),
      reactions: [...reactions].map(([name, users]) => ({ name, users: [...users], count: users.size })),
      team: SELF.teamId,
      ...more,
    };
  }

  announce(message: FakeMessage): void {
    const kinds: Record<string, string> = { D: "im", G: "mpim" };
    const channel_type = kinds[message.channel.slice(0, 1)] ?? "channel";
    const { reactions: _none, ...shape } = this.shape(message);
    const parent = this.messages.find((each) => each.ts === message.thread_ts && each.channel === message.channel);
    const inThread = parent && parent !== message ? { parent_user_id: parent.user } : {};
    const event = { ...shape, ...inThread, channel: message.channel, channel_type, event_ts: message.ts };
    this.event(event);
    if (channel_type !== "im" && message.text.includes(`<@${SELF.userId}>`)) {
      const { channel_type: _type, subtype: _subtype, ...mention } = event as Record<string, unknown>;
      this.event({ ...mention, type: "app_mention" });
    }
  }

  event(event: Record<string, unknown>): void {
    this.deliver("events_api", {
      token: "x",
      team_id: SELF.teamId,
      api_app_id: "A1",
      event,
      type: "event_callback",
      event_id: `Ev${this.next()}`,
      event_time: Math.floor(Date.now() / 1000),
    });
  }

  deliver(type: FakeEnvelope["type"], payload: unknown): void {
    const envelope = { envelope_id: `e${this.next()}`, type, payload, accepts_response_payload: type !== "events_api" };
    this.pending.push(envelope);
    this.last = envelope;
    this.push(envelope);
  }

  push(envelope: FakeEnvelope): void {
    // Slack picks one of the app's sockets; the newest is the hardest case for an app that is changing over.
    const socket = [...this.sockets].findLast((each) => each.readyState === each.OPEN);
    socket?.send(JSON.stringify(envelope));
  }

  greet(socket: WebSocket): void {
    this.sockets.add(socket);
    socket.on("close", () => this.sockets.delete(socket));
    socket.on("message", (data) => {
      const text = String(data as Buffer);
      // A port is given again: the client of another test's server may still call here.
      if (!text.startsWith("{")) return socket.terminate();
      const { envelope_id: id } = JSON.parse(text) as { envelope_id: string };
      const at = this.pending.findIndex((envelope) => envelope.envelope_id === id);
      if (at >= 0) this.pending.splice(at, 1);
    });
    socket.send(
      JSON.stringify({ type: "hello", num_connections: this.sockets.size, connection_info: { app_id: "A1" } }),
    );
    for (const envelope of this.pending) socket.send(JSON.stringify({ ...envelope, retry_attempt: 1 }));
  }

  call(method: string, body: Body, token: string): Answer {
    const needed = method === "apps.connections.open" ? this.appToken : this.botToken;
    if (token !== needed) throw new Refusal(token === "" ? "not_authed" : "invalid_auth");
    const run = METHODS[method];
    if (!run) throw new Refusal("unknown_method");
    return { ok: true, ...run(this, body) };
  }
}

type Method = (slack: Slack, body: Body) => Record<string, unknown>;

const own = { user: SELF.userId, bot_id: SELF.botId };

const METHODS: Readonly<Record<string, Method>> = {
  "auth.test": () => ({
    url: "https://test.slack.com/",
    team: "Test",
    user: SELF.name,
    team_id: SELF.teamId,
    user_id: SELF.userId,
    bot_id: SELF.botId,
  }),
  "apps.connections.open": (slack) => ({
    url: `ws://127.0.0.1:${slack.entrance ?? slack.port}/link/?ticket=t&app_id=A1`,
  }),
  "users.info": (_slack, { user = "" }) => {
    if (user === "UGONE") throw new Refusal("user_not_found");
    const isBot = user === SELF.userId || user === "U77";
    const name = user === ADA ? "ada" : user.toLowerCase();
    const shown = user === ADA ? "Ada Lovelace" : user;
    return {
      user: { id: user, name, real_name: shown, is_bot: isBot, profile: { display_name: "", real_name: shown } },
    };
  },
  "users.conversations": () => ({
    channels: [
      { id: "D1", is_im: true, user: ADA },
      ...Object.keys(CHANNELS).map((id) => ({ id, name: CHANNELS[id] })),
    ],
    response_metadata: { next_cursor: "" },
  }),
  "conversations.info": (_slack, { channel = "" }) => {
    if (CHANNELS[channel] === undefined) throw new Refusal("channel_not_found");
    return { channel: { id: channel, name: CHANNELS[channel] } };
  },
  "conversations.open": () => ({ channel: { id: "D1" } }),
  "conversations.history": (slack, { channel, oldest = "0", include_all_metadata: metadata, limit = "100" }) => {
    const all = slack.messages.filter((each) => each.channel === channel && Number(each.ts) > Number(oldest));
    const main = all.filter((each) => each.thread_ts === undefined).toReversed();
    const messages = main.slice(0, Number(limit)).map((each) => slack.shape(each, metadata === "true"));
    return { messages, has_more: false, response_metadata: { next_cursor: "" } };
  },
  "conversations.replies": (slack, { channel, ts, oldest = "0", include_all_metadata: metadata }) => {
    const parent = slack.messages.find((each) => each.channel === channel && each.ts === ts);
    if (!parent) throw new Refusal("thread_not_found");
    const replies = slack.messages.filter(
      (each) => each.channel === channel && each.thread_ts === ts && Number(each.ts) > Number(oldest),
    );
    const messages = [parent, ...replies].map((each) => slack.shape(each, metadata === "true"));
    return { messages, has_more: false, response_metadata: { next_cursor: "" } };
  },
  "chat.postMessage": (slack, { channel = "", text = "", thread_ts, metadata, blocks }) => {
    if (channel === "CGONE") throw new Refusal("channel_not_found");
    if (text === "" && blocks === undefined) throw new Refusal("no_text");
    if (list(blocks).some((block) => block["type"] === "broken")) throw new Refusal("invalid_blocks");
    if (thread_ts === "1.000001") throw new Refusal("thread_not_found");
    const message = slack.add({
      channel,
      text: text.slice(0, 40_000),
      ...own,
      ...(thread_ts !== undefined && { thread_ts }),
      ...(metadata !== undefined && { metadata: JSON.parse(metadata) as unknown }),
      blocks: list(blocks),
    });
    slack.announce(message);
    return { channel, ts: message.ts, message: slack.shape(message) };
  },
  "chat.update": (slack, { channel, ts, text = "", blocks }) => {
    if (text.length > 4000) throw new Refusal("msg_too_long");
    const message = slack.findOwn(channel, ts, "cant_update_message");
    const before = slack.shape(message);
    message.text = text;
    message.edited = { user: SELF.userId, ts: slack.ts() };
    message.blocks = list(blocks);
    const event = { type: "message", subtype: "message_changed", hidden: true, channel, ts: slack.ts() };
    slack.event({ ...event, message: slack.shape(message), previous_message: before });
    return { channel, ts, text };
  },
  "chat.delete": (slack, { channel, ts }) => {
    slack.messages.splice(slack.messages.indexOf(slack.findOwn(channel, ts, "cant_delete_message")), 1);
    slack.event({ type: "message", subtype: "message_deleted", hidden: true, channel, ts: slack.ts(), deleted_ts: ts });
    return { channel, ts };
  },
  "reactions.add": (slack, { channel, timestamp, name = "" }) => {
    const { reactions } = slack.find(channel, timestamp);
    if (!/^[a-z0-9_+'-]+$/.test(name)) throw new Refusal("invalid_name");
    const users = reactions.get(name) ?? new Set();
    if (users.has(SELF.userId)) throw new Refusal("already_reacted");
    reactions.set(name, users.add(SELF.userId));
    const item = { type: "message", channel, ts: timestamp };
    slack.event({ type: "reaction_added", user: SELF.userId, reaction: name, item, event_ts: slack.ts() });
    return {};
  },
  "reactions.remove": (slack, { channel, timestamp, name = "" }) => {
    if (slack.find(channel, timestamp).reactions.get(name)?.delete(SELF.userId) !== true)
      throw new Refusal("no_reaction");
    return {};
  },
  "reactions.get": (slack, { channel, timestamp }) => ({
    type: "message",
    channel,
    message: slack.shape(slack.find(channel, timestamp)),
  }),
  "files.getUploadURLExternal": (slack, { filename = "" }) => {
    const id = `F${slack.next()}`;
    slack.files.set(id, { bytes: new Uint8Array(), about: { id, name: filename } });
    return { upload_url: `http://127.0.0.1:${slack.port}/upload/${id}`, file_id: id };
  },
  "files.completeUploadExternal": (
    slack,
    { files, channel_id: channel = "", initial_comment: text = "", thread_ts },
  ) => {
    const shared = list(files).map(({ id }) => {
      const file = slack.files.get(String(id));
      if (!file) throw new Refusal("file_not_found");
      return file.about;
    });
    const message = slack.add({
      channel,
      text,
      ...own,
      ...(thread_ts !== undefined && { thread_ts }),
      files: shared,
      more: { subtype: "file_share" },
    });
    const shown = { [channel]: [{ ts: message.ts, ...(thread_ts !== undefined && { thread_ts }) }] };
    for (const about of shared) about["shares"] = channel.startsWith("C") ? { public: shown } : { private: shown };
    slack.announce(message);
    return { files: shared.map(({ id, name }) => ({ id, title: name })) };
  },
  "files.info": (slack, { file = "" }) => {
    const found = slack.files.get(file);
    if (!found) throw new Refusal("file_not_found");
    return { file: found.about };
  },
  "assistant.threads.setStatus": () => ({}),
};

/** Serves a Slack until it is closed. */
export async function startFakeSlack(options: { readonly port?: number } = {}): Promise<FakeSlack> {
  const slack = new Slack();
  slack.add({ channel: "C9", user: ADA, text: "the topic", ts: TOPIC });
  const server = http.createServer((request, response) => void answer(slack, request, response));
  const sockets = new WebSocketServer({ noServer: true });
  server.on("upgrade", (request, socket, head) => {
    if (slack.refusals > 0) {
      slack.refusals -= 1;
      socket.destroy();
      return;
    }
    sockets.handleUpgrade(request, socket, head, (opened) => slack.greet(opened));
  });
  await new Promise<void>((resolve) => server.listen(options.port ?? 0, "127.0.0.1", resolve));
  slack.port = (server.address() as AddressInfo).port;
  return front(slack, server);
}

/** The first message of a thread in C9. */
export const TOPIC = "1700000000.000100";
const SECRET = "shh-1";

function front(slack: Slack, server: http.Server): FakeSlack {
  return {
    url: `http://127.0.0.1:${slack.port}/api/`,
    botToken: slack.botToken,
    appToken: slack.appToken,
    signingSecret: SECRET,
    self: SELF,
    calls: slack.calls,
    pending: slack.pending,
    messages: slack.messages,
    get sockets() {
      return slack.sockets.size;
    },
    ...people(slack),
    bytesOf: (id) => slack.files.get(id)?.bytes ?? new Uint8Array(),
    fail: (method, how, count = 1) => void slack.faults.set(method, { how, count }),
    cut(refusals = 0) {
      slack.refusals = refusals;
      for (const socket of slack.sockets) socket.terminate();
    },
    rotate(reason) {
      const frame = JSON.stringify({ type: "disconnect", reason, debug_info: { host: "applink-1" } });
      for (const socket of slack.sockets) socket.send(frame);
    },
    freeze() {
      for (const socket of slack.sockets) socket.pause();
    },
    get scopes() {
      return slack.scopes;
    },
    set scopes(scopes) {
      slack.scopes = scopes;
    },
    get entrance() {
      return slack.entrance ?? slack.port;
    },
    set entrance(port) {
      slack.entrance = port;
    },
    signed,
    async close() {
      for (const socket of slack.sockets) socket.terminate();
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

function people(slack: Slack): Pick<FakeSlack, "say" | "inject" | "deliver" | "redeliver" | "upload"> {
  return {
    say(channel, text, more = {}, isUnheard = false) {
      const { thread_ts: thread, user, files, ...rest } = more as Record<string, string> & { files?: never };
      const message = slack.add({
        channel,
        user: user ?? ADA,
        text,
        ...(thread !== undefined && { thread_ts: thread }),
        ...(files !== undefined && { files }),
        more: { client_msg_id: `c${slack.next()}`, ...rest },
      });
      if (!isUnheard) slack.announce(message);
      return message.ts;
    },
    inject: (event) => slack.event(event),
    deliver: (type, payload) => slack.deliver(type, payload),
    redeliver() {
      if (slack.last) slack.push({ ...slack.last, envelope_id: `e${slack.next()}`, retry_attempt: 1 });
    },
    upload(bytes, { name, mimetype = "application/octet-stream" }) {
      const id = `F${slack.next()}`;
      const url = `http://127.0.0.1:${slack.port}/files/${id}/${name}`;
      const about = { id, name, title: name, mimetype, size: bytes.length, mode: "hosted", url_private: url };
      const file = { bytes, about: { ...about, url_private_download: url } };
      slack.files.set(id, file);
      return file.about;
    },
  };
}

function signed(body: string, json = true, at = Date.now()): { headers: Record<string, string>; body: Uint8Array } {
  const stamp = String(Math.floor(at / 1000));
  const hash = createHmac("sha256", SECRET).update(`v0:${stamp}:${body}`).digest("hex");
  return {
    headers: {
      "content-type": json ? "application/json" : "application/x-www-form-urlencoded",
      "x-slack-request-timestamp": stamp,
      "x-slack-signature": `v0=${hash}`,
    },
    body: new TextEncoder().encode(body),
  };
}

async function answer(slack: Slack, request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
  const [, room = "", name = ""] = new URL(request.url ?? "/", "http://x").pathname.split("/");
  const bytes = await buffer(request);
  const token = (request.headers.authorization ?? "").replace(/^Bearer /, "");
  if (room === "upload") return receiveFile(slack, name, await fileIn(bytes, request), response);
  if (room === "files") return giveFile(slack, name, token, response);
  return answerCall(
    slack,
    { name, token, body: Object.fromEntries(new URLSearchParams(bytes.toString("utf8"))) },
    response,
  );
}

function answerCall(
  slack: Slack,
  { name, token, body }: { name: string; token: string; body: Body },
  response: http.ServerResponse,
): void {
  const fault = takeFault(slack, name);
  if (fault === "drop") return void response.socket?.destroy();
  if (fault === "429") return void response.writeHead(429, { "retry-after": "1" }).end();
  if (fault === "500") return void response.writeHead(500).end("oops");
  const result = fault === undefined || fault === "lost" ? run(slack, name, body, token) : { ok: false, error: fault };
  slack.calls.push({ method: name, body, ok: result.ok });
  if (fault === "lost") return void response.socket?.destroy();
  const headers = { "content-type": "application/json", "x-oauth-scopes": slack.scopes };
  response.writeHead(200, headers).end(JSON.stringify(result));
}

function run(slack: Slack, method: string, body: Body, token: string): Answer {
  try {
    return slack.call(method, body, token);
  } catch (error) {
    if (error instanceof Refusal) return { ok: false, error: error.message };
    throw error;
  }
}

function takeFault(slack: Slack, method: string): FakeFault | undefined {
  const fault = slack.faults.get(method);
  if (!fault) return undefined;
  fault.count -= 1;
  if (fault.count <= 0) slack.faults.delete(method);
  return fault.how;
}

/** A file comes as it is, or as a part of a form. */
async function fileIn(body: Buffer, { headers }: http.IncomingMessage): Promise<Uint8Array> {
  const type = headers["content-type"] ?? "";
  const bytes = new Uint8Array(body);
  if (!type.startsWith("multipart/form-data")) return bytes;
  const form = await new Response(bytes, { headers: { "content-type": type } }).formData();
  const file = [...form.values()].find((part) => typeof part !== "string");
  return file ? new Uint8Array(await file.arrayBuffer()) : new Uint8Array();
}

function receiveFile(slack: Slack, id: string, bytes: Uint8Array, response: http.ServerResponse): void {
  const file = slack.files.get(id);
  if (file) file.bytes = bytes;
  response.writeHead(file ? 200 : 404).end(file ? `OK - ${bytes.length}` : "");
}

function giveFile(slack: Slack, id: string, token: string, response: http.ServerResponse): void {
  const file = slack.files.get(id);
  // Without a token that may read files Slack shows its sign-in page.
  if (token !== slack.botToken || !slack.scopes.includes("files:read")) {
    response.writeHead(200, { "content-type": "text/html" }).end("<!DOCTYPE html><html></html>");
  } else if (file) {
    response.writeHead(200, { "content-type": String(file.about["mimetype"]) }).end(file.bytes);
  } else {
    response.writeHead(404).end();
  }
}
