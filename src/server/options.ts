import type { IncomingMessage, ServerResponse } from "node:http";
import type { ChatPort } from "../types/chat/chat.ts";
import type { Clock } from "../types/clock.ts";
import type { AgentId, SessionKey } from "../types/ids.ts";
import type { MediaStore, Paired, PairingDesk } from "../types/journal.ts";
import type { Log } from "../types/log.ts";
import type { GatewayEvent, Method } from "../types/method.ts";
import type { ModelInfo } from "../types/run/model.ts";
import type { Secret } from "../types/secret.ts";
import type { Sessions } from "../types/session.ts";

import type { Peer } from "./transport/peer.ts";

/** A piece of the daily log file, from a byte position on. */
export interface LogTail {
  readonly file: string;
  /** Byte position to ask from next time. */
  readonly cursor: number;
  readonly size: number;
  readonly lines: readonly string[];
  readonly truncated?: boolean;
  /** The file was replaced since the given cursor. */
  readonly reset?: boolean;
}

export interface LogTailRequest {
  readonly cursor?: number | undefined;
  readonly limit?: number | undefined;
  readonly maxBytes?: number | undefined;
}

/** `queued`: it goes out when the account is connected. */
export type Notified = { readonly state: "sent" | "queued" } | { readonly state: "failed"; readonly reason: string };

/** What the server's own methods ask of the rest of the gateway. */
export interface ServerPorts {
  readonly chat: ChatPort;
  readonly sessions: Sessions;
  readonly media: Pick<MediaStore, "put" | "read">;
  readonly pairing: Pick<PairingDesk, "list" | "turnedAway" | "approve"> & {
    /** Tells a stranger who was let in; what came of it. Never rejects. */
    notify(paired: Paired): Promise<Notified>;
  };
  /** Turns what a client calls a session into its key. Throws `MethodError` when it cannot be one. */
  resolveSessionKey(text: string): SessionKey;
  models(): Promise<readonly (ModelInfo & { readonly available: boolean })[]>;
  /** The model that a new session of the default agent uses. */
  defaultModel(): ModelInfo | undefined;
  agents(): readonly { readonly id: AgentId; readonly name?: string }[];
  readonly defaultAgent: AgentId;
  /** Adds to the server's own facts in `status`: config problems, model, channels … */
  status(): Promise<Record<string, unknown>> | Record<string, unknown>;
  /** Adds to the server's own facts in `health`: channels, plugins, heartbeat … */
  health(): Promise<Record<string, unknown>> | Record<string, unknown>;
  tailLogs(request: LogTailRequest): Promise<LogTail>;
  /** Path of `sessions.json`, shown to people. */
  readonly sessionsFile: string;
}

export interface RateLimit {
  readonly maxAttempts: number;
  readonly windowMs: number;
  readonly lockoutMs: number;
}

/** What each connection and request is judged by. */
export interface AccessOptions {
  readonly token: Secret;
  readonly password?: Secret;
  /** Exact origins, `https://chat.example.org`. */
  readonly allowedOrigins: readonly string[];
  readonly rateLimit: RateLimit;
  /** IP addresses and networks of proxies whose `X-Forwarded-For` names the client; none when unset. */
  readonly trustedProxies?: readonly string[];
  /** Milliseconds that a socket may take until it has said who it is; 10,000 when unset. */
  readonly handshakeMs?: number;
}

/** Paths, without query, that somebody else answers. */
export interface WebhookPaths {
  has(path: string): boolean;
  /** Answers one request to a path that is there. Never rejects. */
  take(path: string, request: IncomingMessage, response: ServerResponse, peer: Peer): Promise<void>;
}

export interface ServerOptions extends AccessOptions, ServerPorts {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  readonly version: string;
  /** Methods of the other rooms, beside the server's own. */
  readonly methods: readonly Method[];
  /** Events of the other rooms; those of runs come through `chat`. */
  events(signal: AbortSignal): AsyncIterable<GatewayEvent>;
  /** Names of what `events` brings, told to clients. */
  readonly eventNames: readonly string[];
  /** Whether `/v1` is served; it is unless told otherwise. */
  readonly chatCompletions?: boolean;
  /** Folder of the built page; without it no page is served. */
  readonly pageDir?: string;
  ready(): { readonly ok: boolean; readonly problems: readonly string[] };
  /** Adds to `hello-ok.snapshot`; only keys of the protocol's snapshot. */
  snapshot(): Record<string, unknown>;
  /** Prometheus text. */
  metrics(): string;
  /** Paths that channels answer. */
  readonly webhooks?: WebhookPaths;
  readonly log: Log;
  readonly clock: Clock;
}

export interface Server {
  readonly host: string;
  readonly port: number;
  /** Connections that have shaken hands. */
  connections(): number;
  publish(event: GatewayEvent): void;
  /** Says `shutdown`, takes nothing new, closes sockets with 1012; what is still open after `graceMs` is cut. */
  close(graceMs: number, reason?: string): Promise<void>;
}
