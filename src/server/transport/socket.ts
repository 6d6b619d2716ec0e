import { randomUUID } from "node:crypto";
import type { Socket } from "node:net";
import type { RawData, WebSocket } from "ws";
import type { Clock } from "../../types/clock.ts";
import type { Log } from "../../types/log.ts";
import type { Caller } from "../../types/method.ts";
import type { AuthGate } from "./auth.ts";
import type { Calls } from "./calls.ts";
import { ClientConnection } from "./connection.ts";
import { MAX_FIRST_FRAME, parseFrame, type RequestFrame } from "./frames.ts";
import { judgeConnect, type ConnectParams } from "./handshake.ts";
import type { RemotePeer } from "../remote-peer.ts";
import { background } from "../../utils/background.ts";

const HANDSHAKE_MS = 10_000;
/** Milliseconds for which events wait for the answer to a request: one that takes longer waits for somebody else. */
const MOST_HELD_MS = 2000;
/** The first frame and the upgrade headers, which come over the same connection. */
const MAX_FIRST_BYTES = MAX_FIRST_FRAME + 16_384;

export interface SocketServices {
  readonly gate: AuthGate;
  readonly calls: Calls;
  readonly clock: Clock;
  readonly log: Log;
  /** Milliseconds within which the handshake must be done. */
  readonly handshakeMs?: number;
  hello(caller: Caller): Record<string, unknown>;
  /** Called after the answer to the handshake. */
  joined(connection: ClientConnection, params: ConnectParams, address: string): void;
  left(connection: ClientConnection): void;
}

interface Wire {
  readonly raw: Socket;
  readonly peer: RemotePeer;
  /** Called when the handshake is done or the socket closed. */
  settled(): void;
}

/** Serves one upgraded socket until it closes: challenge, handshake, then any number of concurrent requests. */
export function serveSocket(socket: WebSocket, wire: Wire, services: SocketServices): void {
  const connection = new ClientConnection(randomUUID(), textSocket(socket), services.clock.now());
  const unguard = guardFirstBytes(socket, wire.raw);
  const cancelTimeout = services.clock.after(services.handshakeMs ?? HANDSHAKE_MS, () =>
    connection.close(1008, "handshake timeout"),
  );
  const settle = () => {
    unguard();
    cancelTimeout();
    wire.settled();
  };
  socket.on("message", (data, isBinary) => {
    const text = isBinary ? undefined : textOf(data);
    if (text === undefined) return connection.close(1003, "text frames only");
    if (connection.caller !== undefined) return serveFrame(text, connection, services);
    if (Buffer.byteLength(text) > MAX_FIRST_FRAME) return connection.close(1009, "first frame is too large");
    if (performHandshake(text, connection, wire.peer, services)) settle();
  });
  // `close` follows every error and does the cleanup.
  socket.on("error", (error) =>
    services.log.debug("socket failed", { connection: connection.id, error: error.message }),
  );
  socket.on("close", () => {
    settle();
    connection.leave();
    if (connection.caller !== undefined) services.left(connection);
  });
  connection.challenge(randomUUID(), services.clock.now());
}

function textSocket(socket: WebSocket) {
  return {
    get bufferedAmount() {
      return socket.bufferedAmount;
    },
    send: (text: string, sent: () => void) => socket.send(text, sent),
    close: (code: number, reason: string) => socket.close(code, reason),
  };
}

/** Cuts a socket that sends more than a handshake can need, before the bytes pile up in memory. */
function guardFirstBytes(socket: WebSocket, raw: Socket): () => void {
  const start = raw.bytesRead;
  const check = () => {
    if (raw.bytesRead - start > MAX_FIRST_BYTES) socket.terminate();
  };
  raw.on("data", check);
  return () => raw.off("data", check);
}

function textOf(data: RawData): string {
  if (Array.isArray(data)) return Buffer.concat(data).toString("utf8");
  return Buffer.isBuffer(data) ? data.toString("utf8") : Buffer.from(data).toString("utf8");
}

/** True when the handshake succeeded. */
function performHandshake(
  text: string,
  connection: ClientConnection,
  peer: RemotePeer,
  services: SocketServices,
): boolean {
  const parsed = parseFrame(text);
  if (parsed.kind === "invalid") return refuse(connection, parsed.id, parsed.error.message);
  const { frame } = parsed;
  if (frame.method !== "connect") {
    return refuse(connection, frame.id, "invalid handshake: the first request must be connect");
  }
  const result = judgeConnect(frame.params, { connId: connection.id, peer }, services.gate);
  if (result.kind === "refused") {
    services.log.warn("connection refused", { address: peer.address, reason: result.error.message });
    connection.answer(frame.id, { ok: false, error: result.error });
    connection.close(result.closeCode, result.closeReason);
    return false;
  }
  connection.caller = result.caller;
  connection.answer(frame.id, { ok: true, payload: services.hello(result.caller) });
  services.joined(connection, result.params, peer.address);
  return true;
}

function refuse(connection: ClientConnection, id: string, message: string): boolean {
  connection.answer(id, { ok: false, error: { code: "INVALID_REQUEST", message } });
  connection.close(1008, message.slice(0, 120));
  return false;
}

function serveFrame(text: string, connection: ClientConnection, services: SocketServices): void {
  const parsed = parseFrame(text);
  if (parsed.kind === "invalid") {
    connection.answer(parsed.id, { ok: false, error: parsed.error });
    return;
  }
  background("request", answerRequest(parsed.frame, connection, services), services.log);
}

async function answerRequest(
  frame: RequestFrame,
  connection: ClientConnection,
  services: SocketServices,
): Promise<void> {
  const { caller } = connection;
  if (caller === undefined) return;
  const { calls, clock } = services;
  const letGo = calls.mayWait(frame.method) ? () => undefined : connection.answerFirst();
  const cancel = clock.after(MOST_HELD_MS, letGo);
  for await (const answer of calls.answers(frame, caller, connection.gone)) {
    connection.answer(frame.id, answer);
    cancel();
    letGo();
  }
}
