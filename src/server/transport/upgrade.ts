import type { IncomingMessage, Server as HttpServer } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { WebSocket, WebSocketServer } from "ws";
import type { Log } from "../../types/log.ts";
import { background } from "../../utils/background.ts";
import { loadOnce } from "../../utils/share-calls.ts";
import type { AuthGate } from "./auth.ts";
import { CONNECTION_POLICY } from "./frames.ts";
import { refuseAddress, type Reach } from "./judge.ts";
import { isOriginAllowed } from "./origin.ts";
import { countingName } from "../remote-peer.ts";
import type { serveSocket, SocketServices } from "./socket.ts";
import { PendingPeers } from "./pending-peers.ts";

const KEEP_ALIVE_MS = 60_000;

interface Refusal {
  readonly status: 400 | 403 | 503;
  readonly text: string;
}

/** Parts that a socket needs from the start; the rest is loaded at the first upgrade. */
interface Entrance {
  readonly gate: AuthGate;
  readonly log: Log;
  openServices(): Promise<SocketServices>;
}

interface Opened {
  readonly server: WebSocketServer;
  readonly services: SocketServices;
  readonly serve: typeof serveSocket;
}

export interface Sockets {
  /** The open ones. */
  list(): Iterable<WebSocket>;
  /** Accepts no more. */
  stop(): void;
}

/** Accepts WebSocket upgrades on any path of an HTTP server, until `stop` is called. */
export function acceptSockets(http: HttpServer, options: Reach, entrance: Entrance): Sockets {
  const { gate, log } = entrance;
  let opened: Opened | undefined;
  const open = loadOnce(async () => (opened = await openProtocol(entrance)));
  const pending = new PendingPeers();
  let isStopped = false;
  http.on("upgrade", (request: IncomingMessage, raw: Socket, head: Buffer) => {
    const peer = gate.peers.of(request);
    const refusal = isStopped ? STOPPED : judgeUpgrade(request, options);
    if (refusal !== undefined) {
      const { address } = peer;
      log.warn("upgrade refused", { address, origin: request.headers.origin, why: refusal.text.trim() });
      refuseUpgrade(raw, refusal);
      return;
    }
    const settled = pending.admit(countingName(peer), () => {
      log.warn("a socket without a handshake was closed to make space for a new one", {
        address: peer.address,
      });
      raw.destroy();
    });
    // A client that lost its network does not close the connection; the kernel's probes find that out.
    raw.setKeepAlive(true, KEEP_ALIVE_MS);
    raw.once("close", settled);
    const accept = ({ server, services, serve }: Opened): void => {
      raw.off("error", ignore);
      if (isStopped) return refuseUpgrade(raw, STOPPED);
      server.handleUpgrade(request, raw, head, (socket) => serve(socket, { raw, peer, settled }, services));
    };
    if (opened) return accept(opened);
    // Data of the client waits in the socket meanwhile, and an error closes the socket.
    raw.on("error", ignore);
    background(
      "WebSocket",
      open().then(accept, (error: unknown) => refuseUnopened(raw, error)),
      log,
    );
  });
  return { list: () => opened?.server.clients ?? [], stop: () => (isStopped = true) };
}

const ignore = (): void => undefined;

function refuseUnopened(raw: Duplex, error: unknown): never {
  raw.destroy();
  throw error;
}

async function openProtocol({ openServices }: Entrance): Promise<Opened> {
  const [server, services, { serveSocket: serve }] = await Promise.all([
    openServer(),
    openServices(),
    import("./socket.ts"),
  ]);
  return { server, services, serve };
}

/** The library is loaded at the first upgrade. It is a client too, and the TLS for that takes time and memory. */
async function openServer(): Promise<WebSocketServer> {
  const { WebSocketServer: Server } = await import("ws");
  return new Server({
    noServer: true,
    maxPayload: CONNECTION_POLICY.maxPayload,
    perMessageDeflate: false,
    clientTracking: true,
  });
}

const STOPPED: Refusal = { status: 503, text: "The gateway accepts no new connections now.\n" };

function judgeUpgrade(request: IncomingMessage, options: Reach): Refusal | undefined {
  const { host, origin } = request.headers;
  const refusal = refuseAddress(request, options);
  if (refusal !== undefined) return refusal;
  if (isOriginAllowed(origin, host, options.access.allowedOrigins)) return undefined;
  return { status: 403, text: "This origin is not in gateway.controlUi.allowedOrigins.\n" };
}

const REASONS = { 400: "Bad Request", 403: "Forbidden", 503: "Service Unavailable" } as const;

function refuseUpgrade(raw: Duplex, { status, text }: Refusal): void {
  raw.on("error", () => raw.destroy());
  raw.end(
    `HTTP/1.1 ${status} ${REASONS[status]}\r\nConnection: close\r\nContent-Type: text/plain; charset=utf-8\r\n` +
      `Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
  );
}
