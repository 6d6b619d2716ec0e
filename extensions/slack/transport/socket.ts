import { background } from "openclaw/plugin-sdk";
import { WebSocket } from "ws";
import type { RawData } from "ws";
import { z } from "zod";
import type { Delivery } from "../events.ts";

const HELLO_MS = 15_000;
/** How long a replaced socket stays open to acknowledge its events. */
const RETIRE_MS = 5000;

/** Frames of docs.slack.dev/apis/events-api/using-socket-mode. */
const frameShape = z.union([
  z.looseObject({ type: z.literal("hello") }),
  z.looseObject({ type: z.literal("disconnect"), reason: z.string().default("unknown") }),
  z.looseObject({
    type: z.enum(["events_api", "slash_commands", "interactive"]),
    envelope_id: z.string(),
    payload: z.unknown(),
  }),
]);
type Frame = z.output<typeof frameShape>;

/** Why a socket ended. `replace`: Slack asks for a new one, and this one still receives for a moment. */
export type End = { readonly kind: "replace" | "lost" | "disabled"; readonly reason: string };

export interface SocketPorts {
  readonly silenceMs: number;
  /** Resolves with true when the delivery may be acknowledged. */
  accept(delivery: Delivery): Promise<boolean>;
  /** Called for everything that comes over the socket. */
  alive(): void;
}

/** The socket was lost. The message says why, for operators. */
export class SocketLost extends Error {}

/** A connection of Socket Mode. */
export class Socket {
  readonly #ws: WebSocket;
  readonly #ports: SocketPorts;
  readonly #hello = Promise.withResolvers<void>();
  readonly #end = Promise.withResolvers<End>();
  readonly #silenceTimer: NodeJS.Timeout;
  #lastActivityAt = Date.now();
  #unacknowledged = 0;
  #isRetiring = false;

  /** Resolves when Slack has greeted. Rejects with `SocketLost` when it does not, or when the signal aborts. */
  static async open(url: string, ports: SocketPorts, signal: AbortSignal): Promise<Socket> {
    const socket = new Socket(url, ports, signal);
    const timer = setTimeout(() => socket.#finish("lost", "Slack did not greet in time"), HELLO_MS);
    const failed = socket.ended.then(({ reason }) => Promise.reject(new SocketLost(reason)));
    try {
      await Promise.race([socket.#hello.promise, failed]);
      // `ended` reports later failures.
      failed.catch(() => undefined);
      return socket;
    } catch (error) {
      socket.close();
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  private constructor(url: string, ports: SocketPorts, signal: AbortSignal) {
    this.#ports = ports;
    this.#ws = new WebSocket(url, { handshakeTimeout: HELLO_MS, perMessageDeflate: false });
    this.#ws.on("message", (data: RawData, isBinary) => {
      if (!isBinary) this.#readFrame(textOf(data));
    });
    for (const event of ["message", "ping", "pong"] as const) this.#ws.on(event, () => this.#noteActivity());
    this.#ws.on("error", (error) => this.#finish("lost", `the socket failed (${codeOf(error)})`));
    const every = Math.max(250, Math.min(10_000, Math.floor(ports.silenceMs / 3)));
    this.#silenceTimer = setInterval(() => this.#checkSilence(), every);
    const abort = (): void => this.close();
    signal.addEventListener("abort", abort, { once: true });
    if (signal.aborted) abort();
    this.#ws.on("close", (code) => {
      clearInterval(this.#silenceTimer);
      signal.removeEventListener("abort", abort);
      this.#finish("lost", `Slack closed the socket (${code})`);
    });
  }

  /** Resolves when the socket must be replaced or is lost. */
  get ended(): Promise<End> {
    return this.#end.promise;
  }

  /** Closes at once. Slack delivers unacknowledged events again. */
  close(): void {
    this.#finish("lost", "closed");
    this.#ws.terminate();
  }

  /** Closes when every event is acknowledged, or after a few seconds. */
  retire(): void {
    this.#isRetiring = true;
    setTimeout(() => this.close(), RETIRE_MS).unref();
    if (this.#unacknowledged === 0) this.close();
  }

  #finish(kind: End["kind"], reason: string): void {
    this.#end.resolve({ kind, reason });
  }

  #noteActivity(): void {
    this.#lastActivityAt = Date.now();
    this.#ports.alive();
  }

  #checkSilence(): void {
    if (Date.now() - this.#lastActivityAt > this.#ports.silenceMs) {
      this.#finish("lost", `nothing came over the socket for ${this.#ports.silenceMs} ms`);
      this.close();
    } else if (this.#ws.readyState === WebSocket.OPEN) {
      this.#ws.ping();
    }
  }

  #readFrame(data: string): void {
    const frame = parse(data);
    if (frame === undefined) return;
    if (frame.type === "hello") this.#hello.resolve();
    else if (frame.type === "disconnect") this.#disconnect(frame.reason);
    else background("socket frame", this.#deliver(frame));
  }

  #disconnect(reason: string): void {
    if (reason === "link_disabled") this.#finish("disabled", "Socket Mode is turned off for the app");
    else this.#finish("replace", reason);
  }

  async #deliver(frame: Extract<Frame, { envelope_id: string }>): Promise<void> {
    this.#unacknowledged += 1;
    const mayAcknowledge = await this.#ports.accept({ kind: frame.type, payload: frame.payload });
    this.#unacknowledged -= 1;
    if (mayAcknowledge && this.#ws.readyState === WebSocket.OPEN) {
      this.#ws.send(JSON.stringify({ envelope_id: frame.envelope_id }), () => {
        if (this.#isRetiring && this.#unacknowledged === 0) this.close();
      });
    }
  }
}

/** Undefined for frames of other types. */
function parse(data: string): Frame | undefined {
  try {
    return frameShape.safeParse(JSON.parse(data)).data;
  } catch {
    // Slack's older hosts send a heartbeat that is not JSON.
    return undefined;
  }
}

const textOf = (data: RawData): string =>
  Array.isArray(data) ? Buffer.concat(data).toString("utf8") : Buffer.from(new Uint8Array(data)).toString("utf8");

const codeOf = (error: Error): string => ("code" in error && typeof error.code === "string" ? error.code : error.name);
