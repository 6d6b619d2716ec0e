import { createHmac } from "node:crypto";
import http from "node:http";
import type { AddressInfo } from "node:net";
import { WebSocketServer } from "ws";
import { answer } from "./slack-http.ts";
import { ADA, SELF, Slack, TOPIC } from "./slack-world.ts";
import type { FakeCall, FakeEnvelope, FakeFault, FakeMessage } from "./slack-world.ts";

export { ADA, FOREIGN, OPEN, TOPIC } from "./slack-world.ts";
export type { FakeCall, FakeEnvelope, FakeFault, FakeMessage } from "./slack-world.ts";

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
  /** Sockets that were ever opened and greeted. */
  readonly greetings: number;
  /** Somebody writes; `isUnheard` delivers no event. Gives back the message's time. */
  say(channel: string, text: string, more?: Record<string, unknown>, isUnheard?: boolean): string;
  /** Any event, wrapped as Slack does. */
  inject(event: Record<string, unknown>): void;
  deliver(type: FakeEnvelope["type"], payload: unknown): void;
  redeliver(): void;
  /** Ada gives the command /openclaw; gives back its response_url. */
  command(channel: string, text: string): string;
  /** An address at which an interaction can be answered. */
  responseAddress(): string;
  /** What was said to a response_url. */
  responses(url: string): readonly unknown[];
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
  /** The events that the app gets of a mention, and in which order. Only a mention that comes second has its files. */
  tells: Slack["tells"];
  /** So many questions for a thread find nothing: histories are a moment behind the events. */
  hides: number;
  /** So many questions for a file do not tell where it is shown: docs.slack.dev/reference/methods/files.completeUploadExternal. */
  unshown: number;
  /** Answers that one call gives of a thread; Slack may always give fewer than it is asked for. */
  page: number;
  /** The port that new sockets are sent to, where something lies between; its own at first. */
  entrance: number;
  /** What an HTTP request of Slack's looks like. */
  signed(body: string, json?: boolean, at?: number): { headers: Record<string, string>; body: Uint8Array };
  close(): Promise<void>;
}

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
    get greetings() {
      return slack.greetings;
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
    get unshown() {
      return slack.unshown;
    },
    set unshown(unshown) {
      slack.unshown = unshown;
    },
    get page() {
      return slack.page;
    },
    set page(page) {
      slack.page = page;
    },
    get hides() {
      return slack.hides;
    },
    set hides(hides) {
      slack.hides = hides;
    },
    get tells() {
      return slack.tells;
    },
    set tells(tells) {
      slack.tells = tells;
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

function people(
  slack: Slack,
): Pick<
  FakeSlack,
  "say" | "inject" | "deliver" | "redeliver" | "upload" | "command" | "responses" | "responseAddress"
> {
  return {
    command: (channel, text) => slack.command(channel, text),
    responseAddress: () => slack.responseAddress(),
    responses: (url) => slack.responses.get(url.split("/").at(-1) ?? "") ?? [],
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
