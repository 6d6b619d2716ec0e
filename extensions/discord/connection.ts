import { setImmediate } from "node:timers/promises";
import {
  DefaultWebSocketManagerOptions,
  WebSocketShardDestroyRecovery,
  WebSocketShardEvents,
  type IContextFetchingStrategy,
  type SessionInfo,
  WebSocketShard,
  WebSocketShardStatus,
  type WebSocketShardDestroyOptions,
} from "@discordjs/ws";
import { GatewayOpcodes, type GatewayDispatchPayload, type GatewayReceivePayload } from "discord-api-types/v10";
import { background } from "openclaw/plugin-sdk";
import { WebSocket } from "ws";
import { checkFrame } from "./frame.ts";

/** How a connection ended. */
export interface ConnectionEnding {
  /** A close code of the gateway's documentation; 1006 when there was none. */
  readonly code: number;
  readonly reason: string;
  /** Got as far as READY or RESUMED. */
  readonly wasReady: boolean;
  /** Discord has forgotten the session. */
  readonly isForgotten: boolean;
  /** Discord requested the end; nothing is wrong. */
  readonly isPlanned: boolean;
  /** Discord accepts no connection for so many milliseconds. */
  readonly afterMs?: number;
}

export interface DispatchEvent {
  readonly name: string;
  readonly sequence: number;
  /** Data of the event, as its name says. */
  readonly payload: GatewayDispatchPayload;
}

export interface ConnectionSettings {
  readonly url: string;
  readonly token: string;
  readonly intents: number;
  readonly shard: { readonly id: number; readonly count: number };
  /** Milliseconds until READY or RESUMED, without the wait for IDENTIFY. */
  readonly readyTimeoutMs: number;
}

export interface ConnectionPorts {
  /** The session to resume, with the number of its last event that is stored; null for a new one. */
  session(): SessionInfo | null;
  /** Discord began a session. Called before the event READY is received. */
  begun(session: SessionInfo): void;
  received(event: DispatchEvent): void;
  /** Something unreadable came and is skipped; `sequence` where it is an event. */
  unreadable(what: string, sequence?: number): void;
  /** Discord answered a heartbeat after READY or RESUMED. */
  heartbeat(): void;
  /** Resolves when IDENTIFY may be sent; rejects when the signal aborts. */
  mayIdentify(signal: AbortSignal): Promise<void>;
}

/** Names the client to Discord; its documentation asks for these three. */
const PROPERTIES = { os: process.platform, browser: "openclaw", device: "openclaw" };
const BROKEN = 1006;

/** Reasons of the library that are not errors of the connection, by its texts. */
const REASONS: Readonly<Record<string, (end: ShardEnd) => Partial<ConnectionEnding>>> = {
  "Told to reconnect by Discord": () => ({ reason: "Discord asks to connect again", isPlanned: true }),
  // docs.discord.com/developers/events/gateway#resuming: one to five seconds before a new session is begun.
  "Invalid session": ({ recover }) => ({
    reason: "Discord has ended the session",
    ...(recover === WebSocketShardDestroyRecovery.Reconnect && { afterMs: Math.round(1000 + Math.random() * 4000) }),
  }),
  "Zombie connection": () => ({ reason: "the gateway answers no heartbeats" }),
};

/** A connection to the gateway, from HELLO to its close. docs.discord.com/developers/events/gateway */
export class GatewayConnection {
  readonly #settings: ConnectionSettings;
  readonly #ports: ConnectionPorts;
  readonly #shard: Shard;
  readonly #isResumed: boolean;
  #timer: NodeJS.Timeout | undefined;
  #isGreeted = false;
  #isAnswered = false;
  #wasReady = false;
  #error: unknown;
  /** Set where this side ended the connection. */
  #verdict: Partial<ConnectionEnding> = {};

  constructor(settings: ConnectionSettings, ports: ConnectionPorts) {
    this.#settings = settings;
    this.#ports = ports;
    this.#isResumed = ports.session() !== null;
    this.#shard = new Shard(this.#context(), settings.shard.id, (payload) => this.#check(payload));
  }

  /** Resolves when the connection is closed, also because the signal aborted; never rejects. */
  async run(signal: AbortSignal): Promise<ConnectionEnding> {
    if (signal.aborted) return this.#ending({});
    const stop = (): void => this.#close({ reason: "the channel stops" });
    signal.addEventListener("abort", stop, { once: true });
    this.#listen();
    this.#awaitReady();
    // A failure is an error event as well, and ends the shard.
    this.#shard.connect().catch(() => undefined);
    const end = await this.#shard.ended;
    signal.removeEventListener("abort", stop);
    clearTimeout(this.#timer);
    return this.#ending(end);
  }

  /** The library's settings and hooks. The session and all time limits stay with this package. */
  #context(): IContextFetchingStrategy {
    const { url, shard, token, intents } = this.#settings;
    // The library adds a query.
    const address = url.replace(/#.*$/, "");
    const limit = { total: 0, remaining: 0, reset_after: 0, max_concurrency: 1 };
    return {
      options: {
        ...DefaultWebSocketManagerOptions,
        token,
        intents,
        shardCount: shard.count,
        gatewayInformation: { url: address, shards: shard.count, session_start_limit: limit },
        identifyProperties: PROPERTIES,
        handshakeTimeout: null,
        helloTimeout: null,
        readyTimeout: null,
      },
      // A session is resumed at the address that Session chose.
      retrieveSessionInfo: () => {
        const session = this.#ports.session();
        return session && { ...session, resumeURL: address };
      },
      updateSessionInfo: (_, session) => {
        // The number of an event that came in is not yet that of one that is stored, and Session itself forgets sessions.
        if (session && session.sessionId !== this.#ports.session()?.sessionId) this.#ports.begun(session);
      },
      waitForIdentify: async (_, signal) => {
        clearTimeout(this.#timer);
        await this.#ports.mayIdentify(signal);
        this.#awaitReady();
      },
    };
  }

  #listen(): void {
    this.#shard
      .on(WebSocketShardEvents.Ready, () => this.#ready())
      .on(WebSocketShardEvents.Resumed, () => this.#ready())
      .on(WebSocketShardEvents.HeartbeatComplete, () => {
        if (this.#wasReady) this.#ports.heartbeat();
      })
      .on(WebSocketShardEvents.Dispatch, ({ data }) => this.#receive(data))
      .on(WebSocketShardEvents.Error, ({ error }) => {
        this.#error ??= error;
      });
  }

  #ready(): void {
    this.#wasReady = true;
    clearTimeout(this.#timer);
  }

  #awaitReady(): void {
    this.#timer = setTimeout(() => {
      // Resumed once more, a session that gets no answer would get none again, for ever.
      const isForgotten = this.#isResumed && this.#isGreeted && !this.#isAnswered;
      this.#close({ reason: "the gateway was not ready in time", isForgotten });
    }, this.#settings.readyTimeoutMs);
  }

  #close(verdict: Partial<ConnectionEnding>): void {
    this.#verdict = { isForgotten: false, ...verdict };
    background("close of the gateway's connection", this.#shard.destroy({ code: CLOSE_AND_KEEP }));
  }

  #check(payload: unknown): GatewayReceivePayload | null {
    const frame = checkFrame(payload);
    if ("payload" in frame) {
      // The library would start one more heartbeat with each HELLO, and end only the last heartbeat with the
      // connection.
      const isRepeated = frame.payload.op === GatewayOpcodes.Hello && this.#isGreeted;
      this.#isGreeted ||= frame.payload.op === GatewayOpcodes.Hello;
      return isRepeated ? null : frame.payload;
    }
    this.#ports.unreadable(frame.unreadable, frame.sequence);
    return null;
  }

  /** An event that is read wrongly must not end the process. */
  #receive(payload: GatewayDispatchPayload): void {
    this.#isAnswered = true;
    try {
      this.#ports.received({ name: payload.t, sequence: payload.s, payload });
    } catch (error) {
      this.#ports.unreadable(`the event ${payload.t}: ${String(error)}`, payload.s);
    }
  }

  #ending(end: ShardEnd): ConnectionEnding {
    const { code = BROKEN, reason = "", recover } = end;
    return {
      code,
      reason: this.#isGreeted ? `the gateway closed the connection (${code})` : "the gateway cannot be reached",
      // The library also begins anew where the network failed. That ends no session.
      isForgotten: recover === WebSocketShardDestroyRecovery.Reconnect && this.#isGreeted && end.code !== BROKEN,
      isPlanned: false,
      ...(this.#error !== undefined && { reason: reasonOf(this.#error) }),
      ...REASONS[reason]?.(end),
      ...this.#verdict,
      wasReady: this.#wasReady,
    };
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return `the connection to the gateway failed (${String(error)})`;
  return `the connection to the gateway failed (${"code" in error ? String(error.code) : error.message})`;
}

/** Closes a connection and keeps its session, unlike 1000 and 1001. */
const CLOSE_AND_KEEP = 4200;
const NORMAL = 1000;
const CLOSE_WITHIN_MS = 1000;

/** Why the library ended a connection. Discord has ended the session when `recover` is `Reconnect`, unless the network failed. */
type ShardEnd = Pick<WebSocketShardDestroyOptions, "code" | "reason" | "recover">;

/**
 * The library's shard, for one connection. Where the library would connect again after half a second, this one ends: when to
 * connect again, and with which session, is decided by `ShardSession`. docs/decisions/0014-discord-gateway-library.md
 */
class Shard extends WebSocketShard {
  readonly #ended = Promise.withResolvers<ShardEnd>();
  /** Resolves when the socket is closed; never rejects. */
  readonly ended = this.#ended.promise;
  #isEnding = false;

  /** Payloads for which `check` gives null are skipped. */
  constructor(
    context: IContextFetchingStrategy,
    id: number,
    check: (payload: unknown) => GatewayReceivePayload | null,
  ) {
    super(context, id);
    // The library reads fields of a frame without a look at their types, in a promise that nobody catches.
    const unpack: (data: unknown, isBinary: boolean) => Promise<unknown> = this["unpackMessage"].bind(this);
    this["unpackMessage"] = async (data: unknown, isBinary: boolean) => {
      const payload = await unpack(data, isBinary);
      // A HELLO that is read after the end would start a heartbeat on a closed connection.
      return this.#isEnding ? null : check(payload);
    };
  }

  /** The library calls this whatever ends the connection, sometimes twice. Never rejects. */
  override async destroy({ code, reason, recover }: WebSocketShardDestroyOptions = {}): Promise<void> {
    if (this.#isEnding) return;
    this.#isEnding = true;
    // `connect` opens its socket a moment after it has returned.
    if (this.status === WebSocketShardStatus.Idle) await setImmediate();
    const release = closeSoon(this["connection"]);
    const closeCode = recover === WebSocketShardDestroyRecovery.Reconnect ? NORMAL : CLOSE_AND_KEEP;
    try {
      await super.destroy({ code: code ?? closeCode, ...(reason !== undefined && { reason }) });
    } finally {
      release();
      this.#ended.resolve({
        ...(code !== undefined && { code }),
        ...(reason !== undefined && { reason }),
        ...(recover !== undefined && { recover }),
      });
    }
  }
}

/**
 * The library leaves a socket that is still connecting open and without a listener for its error, which would end the process;
 * and it waits half a minute for a peer that is gone. Gives back what clears the timer.
 */
function closeSoon(socket: unknown): () => void {
  if (!(socket instanceof WebSocket)) return () => undefined;
  socket.on("error", () => undefined);
  if (socket.readyState === WebSocket.CONNECTING) socket.terminate();
  const timer = setTimeout(() => socket.terminate(), CLOSE_WITHIN_MS);
  return () => clearTimeout(timer);
}
