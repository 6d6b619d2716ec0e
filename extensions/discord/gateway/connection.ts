import { GatewayOpcodes } from "discord-api-types/v10";
import type { GatewayDispatchPayload } from "discord-api-types/v10";
import { WebSocket } from "ws";
import type { RawData } from "ws";
import { readFrame } from "./frame.ts";

/** A session of the gateway: what Discord needs to go on where a connection broke. */
export interface Resumable {
  readonly id: string;
  readonly sequence: number;
}

/** How a connection came to its end. */
export interface Ending {
  /** Close codes of the gateway's documentation; 1006 when it broke. */
  readonly code: number;
  readonly reason: string;
  /** Got as far as READY or RESUMED. */
  readonly wasReady: boolean;
  /** Discord has forgotten the session. */
  readonly isForgotten: boolean;
  /** Discord asked for it; nothing is wrong. */
  readonly isPlanned: boolean;
  /** Discord wants nothing of us for so many milliseconds. */
  readonly afterMs?: number;
}

export interface Event {
  readonly name: string;
  readonly sequence: number;
  /** As its name says. */
  readonly payload: GatewayDispatchPayload;
}

/** One connection's part of the world. */
export interface Terms {
  readonly url: string;
  readonly token: string;
  readonly intents: number;
  readonly session: Resumable | undefined;
  readonly readyTimeoutMs: number;
  readonly signal: AbortSignal;
  /** What goes with a heartbeat: the last event that need not come again. */
  sequence(): number | null;
  heard(event: Event): void;
  /** Something came that cannot be read; it is left out. */
  odd(what: string): void;
  /** Discord has answered a heartbeat. */
  beaten(): void;
}

/** Keeps the session, unlike 1000 and 1001. */
const CLOSE_AND_KEEP = 4200;
const CLOSE_WITHIN_MS = 1000;
/** Names us to Discord; its documentation asks for these three. */
const PROPERTIES = { os: process.platform, browser: "openclaw", device: "openclaw" };
/** Invalid sequence, and sessions that timed out or were ended by us. */
const FORGOTTEN = new Set([1000, 1001, 4007, 4009]);

/** One WebSocket to the gateway, from HELLO to its close. docs.discord.com/developers/events/gateway */
export class Connection {
  readonly #terms: Terms;
  readonly #socket: WebSocket;
  readonly #timers = new Set<NodeJS.Timeout>();
  #heartbeat: NodeJS.Timeout | undefined;
  #isAnswered = true;
  #wasReady = false;
  /** We said which session is ours, and heard nothing: neither what we missed nor that it is over. */
  #isIgnored = false;
  #verdict: Partial<Ending> = {};

  constructor(terms: Terms) {
    this.#terms = terms;
    this.#socket = new WebSocket(terms.url, { handshakeTimeout: terms.readyTimeoutMs });
  }

  /** Resolves when the connection is over; never rejects. */
  async run(): Promise<Ending> {
    const { signal, readyTimeoutMs } = this.#terms;
    const ended = Promise.withResolvers<Ending>();
    const stop = (): void => this.#end({ reason: "the channel stops" });
    this.#socket.on("message", (data) => this.#read(textOf(data)));
    this.#socket.on("error", (error) => {
      this.#verdict = { reason: codeOf(error), ...this.#verdict };
    });
    this.#socket.on("close", (code, reason) => ended.resolve(this.#ending(code, String(reason))));
    signal.addEventListener("abort", stop, { once: true });
    if (signal.aborted) stop();
    this.#after(readyTimeoutMs, () => {
      if (this.#wasReady) return;
      // Asked for again, it would be ignored again, for ever.
      this.#end({ reason: "the gateway was not ready in time", isForgotten: this.#isIgnored });
    });
    const ending = await ended.promise;
    signal.removeEventListener("abort", stop);
    for (const timer of this.#timers) clearTimeout(timer);
    clearInterval(this.#heartbeat);
    return ending;
  }

  #ending(code: number, words: string): Ending {
    const reason = words === "" ? `the gateway closed the connection (${code})` : `${words} (${code})`;
    const isForgotten = FORGOTTEN.has(code);
    return { code, reason, isForgotten, isPlanned: false, ...this.#verdict, wasReady: this.#wasReady };
  }

  #end(verdict: Partial<Ending>): void {
    this.#verdict = { code: CLOSE_AND_KEEP, isForgotten: false, ...verdict };
    this.#socket.close(CLOSE_AND_KEEP);
    this.#after(CLOSE_WITHIN_MS, () => this.#socket.terminate());
  }

  #after(ms: number, act: () => void): void {
    this.#timers.add(setTimeout(act, ms));
  }

  #send(payload: { op: number; d: unknown }): void {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(payload));
  }

  #read(text: string): void {
    // After its end a connection says nothing: what is left comes again with the session.
    if (this.#socket.readyState !== WebSocket.OPEN) return;
    const frame = readFrame(text);
    if ("odd" in frame) return this.#terms.odd(frame.odd);
    const { payload } = frame;
    switch (payload.op) {
      case GatewayOpcodes.Dispatch:
        this.#isIgnored = false;
        if (payload.t === "READY" || payload.t === "RESUMED") this.#wasReady = true;
        return this.#hear(payload);
      case GatewayOpcodes.Heartbeat:
        return this.#beat();
      case GatewayOpcodes.Reconnect:
        return this.#end({ reason: "Discord asks to connect again", isPlanned: true });
      case GatewayOpcodes.InvalidSession:
        return this.#end({ reason: "Discord has ended the session", ...(payload.d ? {} : forgotten()) });
      case GatewayOpcodes.Hello:
        return this.#greet(payload.d.heartbeat_interval);
      case GatewayOpcodes.HeartbeatAck:
        this.#isAnswered = true;
        return this.#terms.beaten();
    }
  }

  /** An event that is read wrongly must not end the process. */
  #hear(payload: GatewayDispatchPayload): void {
    try {
      this.#terms.heard({ name: payload.t, sequence: payload.s, payload });
    } catch (error) {
      this.#terms.odd(`the event ${payload.t}: ${String(error)}`);
    }
  }

  #greet(heartbeatMs: number): void {
    const { token, intents, session } = this.#terms;
    this.#after(heartbeatMs * Math.random(), () => {
      this.#beat();
      this.#heartbeat = setInterval(() => {
        if (this.#isAnswered) this.#beat();
        else this.#end({ reason: "the gateway answers no heartbeats", code: 1006 });
      }, heartbeatMs);
    });
    this.#isIgnored = session !== undefined;
    if (session) this.#send({ op: GatewayOpcodes.Resume, d: { token, session_id: session.id, seq: session.sequence } });
    else this.#send({ op: GatewayOpcodes.Identify, d: { token, intents, properties: PROPERTIES } });
  }

  #beat(): void {
    this.#isAnswered = false;
    this.#send({ op: GatewayOpcodes.Heartbeat, d: this.#terms.sequence() });
  }
}

/** docs.discord.com/developers/events/gateway#resuming: one to five seconds before a new session is begun. */
const forgotten = (): Partial<Ending> => ({ isForgotten: true, afterMs: Math.round(1000 + Math.random() * 4000) });

const textOf = (data: RawData): string =>
  (Array.isArray(data) ? Buffer.concat(data) : Buffer.from(new Uint8Array(data))).toString();

const codeOf = (error: Error): string =>
  `the gateway cannot be reached (${"code" in error ? String(error.code) : error.message})`;
