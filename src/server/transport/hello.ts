import { randomUUID } from "node:crypto";
import type { Calls } from "./calls.ts";
import { CONNECTION_POLICY } from "./frames.ts";
import type { Admission, Welcome } from "./handshake.ts";
import type { Hub } from "./hub.ts";
import type { ServerOptions, ServerPorts } from "../options.ts";
import type { Presence } from "./presence.ts";
import type { SocketServices } from "./socket.ts";

const OWN_EVENTS = [
  "connect.challenge",
  "chat",
  "chat.side_result",
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
  "device.pair.requested",
  "device.pair.resolved",
  "device.pair.setup.completed",
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
  readonly admission: Admission;
}

/** Services of the server for its sockets: access, the hello message, and presence when a client joins or leaves. */
export function socketServices(options: ServerOptions, ports: Ports, parts: Parts): SocketServices {
  const { calls, hub, presence, admission } = parts;
  const { clock, log } = ports;
  const { handshakeMs } = options.access;
  // A client sees by another one that the gateway was started again.
  const bootId = randomUUID();
  const publishPresence = () =>
    hub.publish({ event: "presence", payload: { presence: presence.list() }, scope: "operator.read" });
  return {
    admission,
    calls,
    clock,
    log,
    ...(handshakeMs !== undefined && { handshakeMs }),
    hello: (welcome) => ({ ...hello(options, parts, bootId, welcome), snapshot: snapshot(ports, presence) }),
    refused({ error, request }, address) {
      log.warn("connection refused", { address, reason: error.message });
      if (request === undefined) return;
      hub.publish({ event: "device.pair.requested", payload: request, scope: "operator.pairing" });
    },
    joined(connection, { params, setup }, address) {
      presence.join(connection, params, address);
      publishPresence();
      hub.add(connection);
      if (setup !== undefined) {
        hub.publish({ event: "device.pair.setup.completed", payload: setup, scope: "operator.pairing" });
      }
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

function hello(
  options: ServerOptions,
  { calls }: Pick<Parts, "calls">,
  bootId: string,
  welcome: Welcome,
): Record<string, unknown> {
  const { caller, protocol, device } = welcome;
  const issued = device === undefined ? {} : { deviceToken: device.token.value, issuedAtMs: device.token.createdAtMs };
  return {
    type: "hello-ok",
    protocol,
    server: { version: options.version, connId: caller.connId, bootId },
    features: {
      methods: calls.names(),
      events: [...new Set([...OWN_EVENTS, ...options.eventNames])].toSorted(),
      capabilities: CAPABILITIES,
    },
    auth: { role: "operator", scopes: [...caller.scopes], ...issued },
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
      modelConfigured: catalog.defaultModel() !== undefined,
      mainKey: "main",
      mainSessionKey: keys.wire(keys.inner("main")),
    },
    ...reports.snapshot(),
  };
}
