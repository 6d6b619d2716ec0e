import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { Log } from "../../types/log.ts";
import { background } from "../../utils/background.ts";
import type { GuardedFetch } from "../../utils/net/guarded-fetch.ts";
import { Traffic } from "./traffic.ts";

/** Streams of events that are opened in such a time: a server that closes each one at once has it opened again. */
const MOST_STREAMS = 30;
const WINDOW_MS = 10_000;

/** Ends a connection over HTTP whose server sends, or has the gateway send, more than anybody needs. */
export class FloodGuard {
  /** Why the connection was ended; undefined while the server keeps to the limits. */
  why: string | undefined;
  readonly #log: Pick<Log, "error">;
  #end: () => Promise<void> = async () => undefined;
  #streams: readonly number[] = [];

  constructor(log: Pick<Log, "error">) {
    this.#log = log;
  }

  /** Counts what comes through a transport. To be called before a client connects to it; `end` closes that client. */
  watch(transport: Transport, end: () => Promise<void>): void {
    const traffic = new Traffic();
    const send = transport.send.bind(transport);
    this.#end = end;
    transport.send = async (message, options) => {
      // The answers to what was read before the end would still be sent.
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
