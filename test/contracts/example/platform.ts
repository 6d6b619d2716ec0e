import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text as readText } from "node:stream/consumers";
import { z } from "zod";
import type { Peer } from "../../../src/types/chat/message.ts";
import { accountId, channelId } from "../../../src/types/ids.ts";
import type { Platform } from "../channel.ts";
import { example } from "./index.ts";

const TOKEN = "token-of-the-example-bot";
const posted = z.object({ key: z.string(), chat: z.string(), text: z.string(), replyTo: z.string().optional() });

type Fault = Parameters<Platform["failSends"]>[0];
interface Shown extends z.output<typeof posted> {
  readonly id: string;
}

const peer = (kind: "direct" | "group", id: string): Peer => ({
  channel: channelId("example"),
  account: accountId("default"),
  chat: { kind, id },
});

/** A server that speaks the protocol of the example. */
class ExampleServer {
  readonly #events: { seq: number }[] = [];
  readonly #shown: Shown[] = [];
  readonly #faults: Fault[] = [];
  readonly #server = createServer((request, response) => void this.#serve(request, response));
  #acknowledged = 0;
  #failedPolls = 0;
  #waiting: (() => void)[] = [];

  async open(): Promise<string> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    const { port } = this.#server.address() as AddressInfo;
    return `http://127.0.0.1:${port}`;
  }

  async close(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = once(this.#server, "close");
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  say(to: Peer, words: string, more: { naming?: boolean; replyingToBot?: boolean } = {}): string {
    const seq = this.#events.length + 1;
    const mentionsBot = more.naming === true || more.replyingToBot === true;
    const replyTo = more.replyingToBot === true ? { replyTo: { id: "sent-1", fromBot: true } } : {};
    const event = { seq, id: `m${seq}`, chat: to.chat, from: { id: "u1", name: "Ada" }, text: words, mentionsBot };
    this.#events.push({ ...event, ...replyTo });
    this.#wake();
    return event.id;
  }

  shown(to: Peer): readonly Shown[] {
    return this.#shown.filter(({ chat }) => chat === to.chat.id);
  }

  unacknowledged(): number {
    return this.#events.length - this.#acknowledged;
  }

  failSends(how: Fault, count = 1): void {
    this.#faults.push(...Array.from({ length: count }, () => how));
  }

  failPolls(count: number): void {
    this.#failedPolls += count;
    this.#wake();
  }

  #wake(): void {
    for (const wake of this.#waiting.splice(0)) wake();
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.setHeader("connection", "close");
    if (request.headers.authorization !== `Bearer ${TOKEN}`) return void response.writeHead(401).end();
    const url = new URL(request.url ?? "/", "http://localhost");
    if (url.pathname === "/events") return this.#poll(Number(url.searchParams.get("after")), response);
    if (url.pathname === "/messages") return this.#take(posted.parse(JSON.parse(await readText(request))), response);
    response.end(JSON.stringify({ id: "bot" }));
  }

  async #poll(after: number, response: ServerResponse): Promise<void> {
    this.#acknowledged = Math.max(this.#acknowledged, after);
    if (this.#failedPolls === 0 && this.#events.length === after) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
    if (this.#failedPolls > 0) {
      this.#failedPolls -= 1;
      response.destroy();
      return;
    }
    response.end(JSON.stringify({ events: this.#events.slice(after) }));
  }

  #take(message: z.output<typeof posted>, response: ServerResponse): void {
    const fault = this.#faults.shift();
    if (fault === "limited") return void response.writeHead(429, { "retry-after": "1" }).end();
    if (fault === "broken") return void response.writeHead(500).end();
    if (fault === "forbidden") return void response.writeHead(403).end();
    if (fault === "dropped") return void response.destroy();
    const known = this.#shown.find(({ key }) => key === message.key);
    const id = known?.id ?? `sent-${this.#shown.length + 1}`;
    if (!known) this.#shown.push({ ...message, id });
    if (fault === "lost") return void response.destroy();
    response.end(JSON.stringify({ id }));
  }
}

/** The example's platform, for the contract. */
export async function examplePlatform(): Promise<Platform> {
  const server = new ExampleServer();
  const apiUrl = await server.open();
  return {
    adapter: example,
    config: { apiUrl, token: TOKEN },
    wrongConfig: { apiUrl, token: "wrong" },
    direct: peer("direct", "u1"),
    group: peer("group", "lobby"),
    knowsKeys: true,
    say: (to, words, more) => server.say(to, words, more),
    shown: (to) => server.shown(to).map(({ text }) => text),
    answers: (to) => server.shown(to).map(({ replyTo }) => replyTo),
    failSends: (how, count) => server.failSends(how, count),
    failReceive: (count) => server.failPolls(count),
    unacknowledged: () => server.unacknowledged(),
    close: () => server.close(),
  };
}
