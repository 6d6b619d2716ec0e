import type { TranscriptUpdate } from "../types/session.ts";
import fastify, { type FastifyInstance } from "fastify";
import { OpenClawError } from "../types/errors.ts";
import { AuthGate } from "./transport/auth.ts";
import { Calls } from "./transport/calls.ts";
import { CONNECTION_POLICY } from "./transport/frames.ts";
import { watchEventLoop } from "./event-loop.ts";
import { socketServices } from "./transport/hello.ts";
import { Hub } from "./transport/hub.ts";
import type { Server, ServerOptions, ServerPorts } from "./options.ts";
import type { MethodParts } from "./methods/parts.ts";
import { loadOnce } from "../utils/share-calls.ts";
import type { PushOwner } from "./push/kept.ts";
import type { WebPush } from "./push/push.ts";
import { servePushRenewal } from "./push/route.ts";
import { Presence } from "./transport/presence.ts";
import { findPortOwner } from "./port-owner.ts";
import { watchEvents } from "./events/watch.ts";
import { acceptSockets, type Sockets } from "./transport/upgrade.ts";
import { serveOpenAi } from "./openai/routes.ts";
import { serveMedia } from "./media-route.ts";
import { serveToolCalls } from "./tools-invoke.ts";
import { serveBasics } from "./http.ts";

/** Milliseconds within which a whole request must arrive; its answer may take longer. */
const REQUEST_MS = 300_000;
/** Longest time in which a push service may answer while the gateway stops. */
const PUSH_GRACE_MS = 2000;

/**
 * Serves the page, HTTP calls and WebSockets on one port. Throws `PORT_IN_USE`, naming the process that has the port, or
 * `BIND_REFUSED` when the machine does not allow the address.
 */
export async function startServer(options: ServerOptions, ports: ServerPorts): Promise<Server> {
  const app = fastify({
    logger: false,
    bodyLimit: CONNECTION_POLICY.maxPayload,
    requestTimeout: REQUEST_MS,
    forceCloseConnections: false,
    schemaController: { compilersFactory: { buildValidator: noSchemas, buildSerializer: noSchemas } },
  });
  const { clock, log } = ports;
  const gate = new AuthGate(options.access, clock);
  const pushed: { to?: WebPush } = {};
  const hub = new Hub(ports.keys, (event) => pushed.to?.tell(event));
  const presence = new Presence(options.version, clock.now());
  const stopping = new AbortController();
  const eventLoop = watchEventLoop(stopping.signal);
  const openPush = loadOnce(async () => {
    const opened = await openDevices(options, ports, stopping.signal);
    pushed.to = opened.push;
    return opened;
  });
  serveRoutes(app, options, ports, gate);
  const basePath = options.page?.basePath ?? "";
  servePushRenewal(app, { basePath, log, openPush: async () => (await openPush()).push });
  const opened = loadOnce(async () => {
    const { SetupCodes, reachableAddress, proxiedAddress } = await import("./devices/setup-codes.ts");
    const owned = await openPush();
    const codes = new SetupCodes(clock);
    const reachedAt =
      reachableAddress(options.host, portOf(app, options.port)) ??
      proxiedAddress(options.access.allowedOrigins, basePath);
    const calls = await openCalls(options, ports, { hub, presence, eventLoop, ...owned, codes, reachedAt });
    return { calls, admission: { gate, devices: owned.devices, codes } };
  });
  const openServices = async () => socketServices(options, ports, { ...(await opened()), hub, presence });
  const sockets = acceptSockets(app.server, options, { gate, log, openServices });
  await listen(app, options);
  const written = async (update: TranscriptUpdate) =>
    (await import("./methods/history.ts")).writtenMessage(update, ports);
  // Browsers are told of what happens before anybody opens a page. Without subscriptions, nothing is loaded for them.
  if (await hasPush(ports))
    await openPush().catch((error: unknown) => log.error("no browser gets notifications", { error }));
  watchEvents({ ...ports, written }, hub, stopping.signal);
  return {
    host: options.host,
    port: portOf(app, options.port),
    connections: () => hub.size,
    approvers: () => hub.count("operator.approvals") + (pushed.to?.approvers ?? 0),
    methods: async () => (await opened()).calls.all(),
    publish: (event) => hub.publish(event),
    async close(graceMs, reason = "the gateway stops") {
      sockets.stop();
      hub.publish({ event: "shutdown", payload: { reason } });
      stopping.abort();
      for (const connection of hub.list()) connection.close(1012, "service restart");
      await pushed.to?.stop(Math.min(graceMs, PUSH_GRACE_MS));
      await closeAll(app, sockets, graceMs);
    },
  };
}

/** Whether there may be subscriptions to notifications. The gateway starts without them when they cannot be read. */
async function hasPush({ push, log }: ServerPorts): Promise<boolean> {
  try {
    return (await push.store.read()) !== undefined;
  } catch (error) {
    log.error("no browser gets notifications", { error });
    return false;
  }
}

/** The paired devices, and the notifications to them and to clients with the gateway's own token. */
async function openDevices({ access }: ServerOptions, ports: ServerPorts, signal: AbortSignal) {
  const [{ Devices }, { loginMark }, { WebPush }] = await Promise.all([
    import("./devices/devices.ts"),
    import("./push/kept.ts"),
    import("./push/push.ts"),
  ]);
  const devices = await Devices.open(ports.devices, ports);
  const login = loginMark(access);
  const scopesOf = ({ deviceId, login: of, scopes }: PushOwner): readonly string[] | undefined => {
    // Who came with another token or password of the gateway is told nothing any more.
    if (of !== login && (deviceId === null || !access.takesDeviceTokens)) return undefined;
    if (deviceId === null) return scopes;
    const token = devices.get(deviceId)?.token;
    return token?.revokedAtMs === undefined ? token?.scopes : undefined;
  };
  const { clock, log, push: surroundings, pairing } = ports;
  const strangers = () => pairing.list();
  return { devices, login, push: await WebPush.open({ ...surroundings, clock, log, scopesOf, strangers, signal }) };
}

/** The methods are loaded with the first socket: a gateway whose page is closed does without them and their schemas. */
async function openCalls(
  options: ServerOptions,
  ports: ServerPorts,
  state: Omit<MethodParts, "version" | "sessionsFile">,
): Promise<Calls> {
  const { version, sessionsFile } = options;
  const [{ serverMethods }, others] = await Promise.all([import("./methods/table.ts"), options.methods()]);
  return new Calls([...serverMethods(ports, { version, sessionsFile, ...state }), ...others], options.added, ports);
}

/** The compilers of schemas take 2 MB of memory, and no route has a schema: zod checks requests. */
function noSchemas(): never {
  throw new Error("a route has a schema, and the gateway compiles none");
}

async function listen(app: FastifyInstance, { host, port }: ServerOptions): Promise<void> {
  try {
    await app.listen({ host, port });
  } catch (error) {
    throw await explainListen(error, host, port);
  }
}

async function explainListen(error: unknown, host: string, port: number): Promise<unknown> {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (code === "EADDRINUSE") {
    const owner = await findPortOwner(port);
    return new OpenClawError("PORT_IN_USE", {
      message: `Port ${port} on ${host} is taken by ${owner ?? "another process"}.`,
      fix: "Stop that process, or choose another port with --port or gateway.port.",
      cause: error,
    });
  }
  if (code !== "EACCES" && code !== "EADDRNOTAVAIL") return error;
  return new OpenClawError("BIND_REFUSED", {
    message: `This machine does not let the gateway listen on ${host}:${port}.`,
    fix: "Choose an address of this machine and a port from 1024 on (gateway.bind, gateway.port).",
    cause: error,
  });
}

function portOf(app: FastifyInstance, asked: number): number {
  const address = app.server.address();
  return typeof address === "object" && address !== null ? address.port : asked;
}

async function closeAll(app: FastifyInstance, sockets: Sockets, graceMs: number): Promise<void> {
  const cut = setTimeout(() => {
    for (const socket of sockets.list()) socket.terminate();
    app.server.closeAllConnections();
  }, graceMs);
  for (const socket of sockets.list()) socket.close(1012, "service restart");
  app.server.closeIdleConnections();
  await app.close();
  clearTimeout(cut);
}

/** Everything that the server answers over HTTP. */
function serveRoutes(app: FastifyInstance, options: ServerOptions, ports: ServerPorts, gate: AuthGate): void {
  serveBasics(app, options, ports, gate);
  if (options.openAi) serveOpenAi(app, options.openAi, ports, gate);
  serveToolCalls(app, ports, gate);
  serveMedia(app, options.page?.basePath ?? "", ports, gate);
}
