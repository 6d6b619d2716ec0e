import type { KeyNames } from "../sessions/shown/wire-keys.ts";
import type { HttpRouteContribution } from "../types/contribution.ts";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { ChatPort } from "../types/chat/chat.ts";
import type { ToolCallOutcome, ToolCallRequest } from "../types/chat/tool-call.ts";
import type { Clock } from "../types/clock.ts";
import type { EmbeddingOutcome, EmbeddingRequest } from "../types/media/embedding.ts";
import type { AgentId, SessionKey } from "../types/ids.ts";
import type { Notified, Paired } from "../types/answers/pairing.ts";
import type { MediaStore, PairingDesk } from "../types/journal.ts";
import type { Log } from "../types/log.ts";
import type { GatewayEvent, Method } from "../types/method.ts";
import type { ShownCommands } from "../types/answers/chat.ts";
import type { SystemFacts } from "../types/answers/system.ts";
import type { GatewayHealth, GatewayStatus, LogTail, ShownModels } from "../types/gateway-status.ts";
import type { ModelInfo } from "../types/run/model.ts";
import type { Secret } from "../types/secret.ts";
import type { HeartbeatSettings } from "../types/settings.ts";
import type { SessionEntry, SessionPatch, Sessions, SessionRights, SettingInForce } from "../types/session.ts";

import type { DeviceStore } from "./devices/devices.ts";
import type { PushPorts } from "./push/push.ts";
import type { RemotePeer } from "./remote-peer.ts";

export interface LogTailRequest {
  readonly cursor?: number | undefined;
  readonly limit?: number | undefined;
  readonly maxBytes?: number | undefined;
}

type ListedHeartbeat = Pick<HeartbeatSettings, "everyMs" | "target" | "prompt" | "ackMaxChars">;

/** The agents and models that the config names, as they are now. */
export interface Catalog {
  /** `heartbeat`: unset for an agent without heartbeats. */
  agents(): readonly { readonly id: AgentId; readonly name?: string; readonly heartbeat?: ListedHeartbeat }[];
  readonly defaultAgent: AgentId;
  models(): Promise<readonly (ModelInfo & { readonly available: boolean })[]>;
  /** The models of an agent, and the commands of chats, in the protocol's shapes. */
  forInput(agentId: string | undefined): Promise<ShownModels & ShownCommands>;
  /** The model that a new session of the default agent uses. */
  defaultModel(): ModelInfo | undefined;
  /** The settings of a session, begun or not, by the names that `sessions.patch` has for them. */
  settingsOf(key: SessionKey): Promise<Readonly<Record<string, SettingInForce>>>;
  /** Rights of an operator's turn in a session, and the keys that grant them. */
  rightsOf(key: SessionKey): Promise<SessionRights>;
}

/** Reports of the gateway about itself. */
export interface Reports {
  /** Additions to the server's own facts in `status`, such as config problems, the model and the channels. */
  status(): Promise<GatewayStatus> | GatewayStatus;
  /** Additions to the server's own facts in `health`, such as channels, plugins and the heartbeat. */
  health(): Promise<Partial<GatewayHealth>> | Partial<GatewayHealth>;
  ready(): { readonly ok: boolean; readonly problems: readonly string[] };
  /** Additions to `hello-ok.snapshot`; only keys of the protocol's snapshot. */
  snapshot(): Record<string, unknown>;
  /** Prometheus text. */
  metrics(): string;
  tailLogs(request: LogTailRequest): Promise<LogTail>;
  /** Facts about the machine and the process, in addition to the server's own in `system.info`. */
  machine(): Promise<SystemFacts>;
}

/** The conversations, for clients. */
interface SessionPorts {
  readonly chat: ChatPort;
  readonly sessions: Sessions;
  /** The names of the groups into which people sort sessions, in their order. */
  readonly sessionGroups: { read(): Promise<readonly string[]>; write(names: readonly string[]): Promise<void> };
  /** Called when a client has changed settings of a session. Must not throw. */
  onPatched?(key: SessionKey, patch: SessionPatch, entry: Readonly<SessionEntry>): void;
}

/** The devices of clients. */
interface DevicePorts {
  /** Where they are kept. */
  readonly devices: DeviceStore;
  /** Where the subscriptions of browsers to notifications are kept, and how push services are reached. */
  readonly push: Pick<PushPorts, "store" | "env" | "allowPrivate">;
}

/** Parts of the rest of the gateway that the server may call. */
export interface ServerPorts extends SessionPorts, DevicePorts {
  readonly media: Pick<MediaStore, "put" | "read" | "path" | "typeOf">;
  readonly pairing: Pick<PairingDesk, "list" | "turnedAway" | "approve" | "admitted" | "reject" | "revoke"> & {
    /** Informs a stranger that an owner let them in, and returns the result. Never rejects. */
    notify(paired: Paired): Promise<Notified>;
  };
  readonly keys: KeyNames;
  /** Calls one tool for a client with the token. Rejects when the gateway itself fails. */
  callTool(request: ToolCallRequest): Promise<ToolCallOutcome>;
  /** Makes vectors of texts for a client with the token. Rejects when the gateway itself fails. */
  embed(request: EmbeddingRequest): Promise<EmbeddingOutcome>;
  readonly catalog: Catalog;
  readonly reports: Reports;
  /** Events of the other modules; events of runs come through `chat`. */
  events(signal: AbortSignal): AsyncIterable<GatewayEvent>;
  /** Paths that channels answer. */
  readonly webhooks?: WebhookPaths;
  readonly log: Log;
  readonly clock: Clock;
}

export interface RateLimit {
  readonly maxAttempts: number;
  readonly windowMs: number;
  readonly lockoutMs: number;
}

/** How the server decides whom to let in. */
export interface AccessOptions {
  readonly token: Secret;
  readonly password?: Secret;
  /** Exact origins, `https://chat.example.org`. */
  readonly allowedOrigins: readonly string[];
  readonly rateLimit: RateLimit;
  /** IP addresses and networks of proxies whose `X-Forwarded-For` names the client; none when unset. */
  readonly trustedProxies?: readonly string[];
  /** Milliseconds within which a socket must finish the handshake; 10,000 when unset. */
  readonly handshakeMs?: number;
  /** Whether a paired device gets in with its own token, and a new one with a code. */
  readonly takesDeviceTokens: boolean;
}

/** Paths, without query, that channels answer. */
export interface WebhookPaths {
  has(path: string): boolean;
  /** Answers one request to a path for which `has` is true. Never rejects. */
  take(path: string, request: IncomingMessage, response: ServerResponse, peer: RemotePeer): Promise<void>;
}

/** The present methods of contributors. */
export interface AddedMethods {
  readonly methods: readonly Method[];
}

/** The present routes of contributors. */
export interface AddedRoutes {
  readonly httpRoutes: readonly HttpRouteContribution[];
}

/** The endpoints in OpenAI's protocol. */
export interface OpenAiOptions {
  /** Whether `/v1/chat/completions` is served. */
  readonly chatCompletions: boolean;
  /** Whether `/v1/responses` is served. */
  readonly responses: boolean;
  /** Headers that name the conversation of a request, as clients other than the gateway's own send them. */
  readonly conversationHeaders: readonly string[];
  /** The model that answers what clients ask for themselves, such as titles; the agent's own when unset. */
  readonly utilityModel?: string;
}

/** The page in the browser. */
export interface PageOptions {
  /** Folder of the built page, with its `index.html`. */
  readonly dir: string;
  /** In front of every path of the page: `/claw`, or empty. */
  readonly basePath: string;
  /** Whether the folder has a Control UI of OpenClaw in place of the gateway's own page. */
  readonly isControlUi: boolean;
}

/** How the server is set up. */
export interface ServerOptions {
  readonly host: string;
  /** 0 takes a free port. */
  readonly port: number;
  readonly access: AccessOptions;
  readonly version: string;
  /** Loads the methods of the other modules, in addition to the server's own: no one needs them before the first socket. */
  methods(): Promise<readonly Method[]>;
  /** Methods and routes of contributors, which come and go. */
  readonly added: AddedMethods & AddedRoutes;
  /** Names of the events that the port `events` brings; clients get the list. */
  readonly eventNames: readonly string[];
  /** Path of `sessions.json`, shown to people. */
  readonly sessionsFile: string;
  /** How `/v1` is served; not at all when unset. */
  readonly openAi?: OpenAiOptions;
  /** The page that is served; none when unset. */
  readonly page?: PageOptions;
}

export interface Server {
  readonly host: string;
  readonly port: number;
  /** Number of connections that finished the handshake. */
  connections(): number;
  /** Number of connections that may decide approvals. */
  approvers(): number;
  /** Every method that a client can call now, with the shapes of its parameters and of its answer. */
  methods(): Promise<readonly Method[]>;
  publish(event: GatewayEvent): void;
  /** Publishes `shutdown`, accepts nothing new, closes sockets with 1012, and cuts open connections after `graceMs`. */
  close(graceMs: number, reason?: string): Promise<void>;
}
