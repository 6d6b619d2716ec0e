import type { Caller } from "../../types/method.ts";
import type { AuthGate } from "./auth.ts";
import type { Calls } from "./calls.ts";
import { CONNECTION_POLICY, PROTOCOL } from "./frames.ts";
import type { Hub } from "./hub.ts";
import type { ServerOptions, ServerPorts } from "../options.ts";
import type { Presence } from "./presence.ts";
import type { SocketServices } from "./socket.ts";

const OWN_EVENTS = [
  "connect.challenge",
  "chat",
  "agent",
  "presence",
  "tick",
  "shutdown",
  "exec.approval.requested",
  "exec.approval.resolved",
  "plugin.approval.requested",
  "plugin.approval.resolved",
  "question.requested",
  "question.resolved",
  "pairing.resolved",
  "sessions.changed",
  "session.message",
];

/** What clients of OpenClaw do only where the gateway says that it can: `openclaw models list` reads the gateway's models. */
const CAPABILITIES = ["published-model-catalog"];

type Ports = Pick<ServerPorts, "catalog" | "reports" | "keys" | "clock" | "log">;

interface Parts {
  readonly calls: Calls;
  readonly hub: Hub;
  readonly presence: Presence;
  readonly gate: AuthGate;
}

/** Services of the server for its sockets: access, the hello message, and presence when a client joins or leaves. */
export function socketServices(options: ServerOptions, ports: Ports, parts: Parts): SocketServices {
  const { calls, hub, presence, gate } = parts;
  const { clock, log } = ports;
  const { handshakeMs } = options.access;
  const publishPresence = () =>
    hub.publish({ event: "presence", payload: { presence: presence.list() }, scope: "operator.read" });
  return {
    gate,
    calls,
    clock,
    log,
    ...(handshakeMs !== undefined && { handshakeMs }),
    hello: (caller) => ({ ...hello(options, parts, caller), snapshot: snapshot(ports, presence) }),
    joined(connection, params, address) {
      presence.join(connection, params, address);
      publishPresence();
      hub.add(connection);
      const { id, mode } = params.client;
      log.info("client connected", { connection: connection.id, client: id, mode, address });
    },
    left(connection) {
      hub.remove(connection);
      presence.leave(connection);
      publishPresence();
      log.info("client left", { connection: connection.id });
    },
  };
}

function hello(options: ServerOptions, { calls }: Parts, caller: Caller): Record<string, unknown> {
  return {
    type: "hello-ok",
    protocol: PROTOCOL,
    server: { version: options.version, connId: caller.connId },
    features: {
      methods: calls.names(),
      events: [...new Set([...OWN_EVENTS, ...options.eventNames])].toSorted(),
      capabilities: CAPABILITIES,
    },
    auth: { role: "operator", scopes: [...caller.scopes] },
    policy: CONNECTION_POLICY,
  };
}

function snapshot({ catalog, reports, keys }: Ports, presence: Presence): Record<string, unknown> {
  return {
    presence: presence.list(),
    health: {},
    stateVersion: { presence: presence.version, health: 1 },
    uptimeMs: Math.round(process.uptime() * 1000),
    authMode: "token",
    sessionDefaults: {
      defaultAgentId: catalog.defaultAgent,
      mainKey: "main",
      mainSessionKey: keys.wire(keys.inner("main")),
    },
    ...reports.snapshot(),
  };
}
