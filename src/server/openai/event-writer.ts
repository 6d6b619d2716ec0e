import type { FastifyReply } from "fastify";
import type { ServerResponse } from "node:http";
import type { Clock } from "../../types/clock.ts";
import { background } from "../../utils/background.ts";
import { errorBody, type ApiError } from "./errors.ts";

const KEEP_ALIVE_MS = 15_000;

/** What the events of an answer begin with, and how an error in their midst looks. */
interface Protocol {
  /** Called once, before the first event. */
  begin(): readonly object[];
  failure(error: ApiError): readonly object[];
  /** The event as it is sent; called in the order in which events are sent. */
  sent(event: object): object;
}

/** Writes one answer as server-sent events. Sends nothing before the first event, so that an early failure can set the status. */
export class EventWriter {
  readonly #raw: ServerResponse;
  readonly #protocol: Protocol;
  readonly #clock: Clock;
  #cancel: () => void;

  constructor(reply: FastifyReply, protocol: Protocol, clock: Clock) {
    reply.hijack();
    for (const [name, value] of Object.entries(reply.getHeaders()))
      if (value !== undefined) reply.raw.setHeader(name, value);
    this.#raw = reply.raw;
    this.#protocol = protocol;
    this.#clock = clock;
    this.#cancel = this.#keepAlive();
  }

  /** Writes events. One with a `type` is named by it. Resolves when the client can take more. */
  async send(...events: readonly object[]): Promise<void> {
    this.#open();
    await this.#write(this.#encoded(events));
  }

  /** Ends the answer as it is whole. */
  async finish(...events: readonly object[]): Promise<void> {
    await this.send(...events);
    await this.#write("data: [DONE]\n\n");
    this.#raw.end();
  }

  /** Ends with an error: with its status when nothing was sent yet, else inside the stream. */
  fail(error: ApiError): void {
    if (this.#raw.headersSent) return void this.#raw.end(this.#encoded(this.#protocol.failure(error)));
    this.#raw.writeHead(error.status, { "content-type": "application/json; charset=utf-8" });
    this.#raw.end(JSON.stringify(errorBody(error)));
  }

  stop(): void {
    this.#cancel();
  }

  #open(): void {
    if (this.#raw.headersSent) return;
    this.#raw.writeHead(200, {
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-cache",
      connection: "keep-alive",
      "x-accel-buffering": "no",
    });
    background("start of a stream", this.#write(this.#encoded(this.#protocol.begin())));
  }

  #encoded(events: readonly object[]): string {
    return events.map((event) => encoded(this.#protocol.sent(event))).join("");
  }

  #keepAlive(): () => void {
    return this.#clock.after(KEEP_ALIVE_MS, () => {
      this.#open();
      // A client that does not read needs no keep-alive, and each one would add another waiting write.
      if (!this.#raw.writableNeedDrain) background("keep-alive of a stream", this.#write(": waiting\n\n"));
      this.#cancel = this.#keepAlive();
    });
  }

  #write(text: string): Promise<void> {
    const raw = this.#raw;
    if (raw.destroyed || text === "" || raw.write(text)) return Promise.resolve();
    return new Promise((resolve) => {
      const done = () => {
        raw.off("drain", done).off("close", done);
        resolve();
      };
      raw.on("drain", done).on("close", done);
    });
  }
}

function encoded(event: object): string {
  const name = "type" in event && typeof event.type === "string" ? `event: ${event.type}\n` : "";
  return `${name}data: ${JSON.stringify(event)}\n\n`;
}
