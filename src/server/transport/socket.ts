import { randomUUID } from "node:crypto";
import type { Socket } from "node:net";
import type { RawData, WebSocket } from "ws";
import type { Clock } from "../../types/clock.ts";
import type { Log } from "../../types/log.ts";
import type { Calls } from "./calls.ts";
import { ClientConnection } from "./connection.ts";
import { MAX_FIRST_FRAME, parseFrame, type RequestFrame } from "./frames.ts";
import { judgeConnect, type Admission, type RefusedConnect, type Welcome } from "./handshake.ts";
import type { RemotePeer } from "../remote-peer.ts";
import { background } from "../../utils/background.ts";

const HANDSHAKE_MS = 10_000;
/**
 * Milliseconds for which events wait for the answer to a request, and for the client to read it: an answer that takes
 * longer waits for somebody else.
 */
const MOST_HELD_MS = 2000;
/** The first frame and the upgrade headers, which come over the same connection. */
const MAX_FIRST_BYTES = MAX_FIRST_FRAME + 16_384;

export interface SocketServices {
  readonly admission: Admission;
  readonly calls: Calls;
  readonly clock: Clock;
  readonly log: Log;
  /** Milliseconds within which the handshake must be done. */
  readonly handshakeMs?: number;
  hello(welcome: Welcome): Record<string, unknown>;
  /** Called after the answer to the handshake. */
  joined(connection: ClientConnection, welcome: Welcome, address: string): void;
  /** Called after the refusal of a handshake. */
  refused(refusal: RefusedConnect, address: string): void;
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
  const nonce = randomUUID();
  let isShaking = false;
  socket.on("message", (data, isBinary) => {
    const text = isBinary ? undefined : textOf(data);
    if (text === undefined) return connection.close(1003, "text frames only");
    if (connection.caller !== undefined) return serveFrame(text, connection, services);
    if (isShaking) return connection.close(1008, "invalid handshake: a request came before the answer to connect");
    if (Buffer.byteLength(text) > MAX_FIRST_FRAME) return connection.close(1009, "first frame is too large");
    isShaking = true;
    background(
      "handshake",
      performHandshake(text, connection, { nonce, peer: wire.peer, settle }, services),
      services.log,
    );
  });
  socket.on("pong", (data) => connection.pong(data.toString("utf8")));
  // `close` follows every error and does the cleanup.
  socket.on("error", (error) =>
    services.log.debug("socket failed", { connection: connection.id, error: error.message }),
  );
  socket.on("close", () => {
    settle();
    connection.leave();
    if (connection.caller !== undefined) services.left(connection);
  });
  connection.challenge(nonce, services.clock.now());
}

function textSocket(socket: WebSocket) {
  return {
    get bufferedAmount() {
      return socket.bufferedAmount;
    },
    send: (text: string, sent: () => void) => socket.send(text, sent),
    ping: (text: string) => {
      if (socket.readyState === socket.OPEN) socket.ping(text);
    },
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

interface Shaking {
  /** What a device signs. */
  readonly nonce: string;
  readonly peer: RemotePeer;
  /** Called when the client is let in. */
  settle(): void;
}

/** Answers the first frame. A device that is new is kept before it gets its token. */
async function performHandshake(
  text: string,
  connection: ClientConnection,
  { nonce, peer, settle }: Shaking,
  services: SocketServices,
): Promise<void> {
  const parsed = parseFrame(text);
  if (parsed.kind === "invalid") return refuse(connection, parsed.id, parsed.error.message);
  const { frame } = parsed;
  if (frame.method !== "connect") {
    return refuse(connection, frame.id, "invalid handshake: the first request must be connect");
  }
  const from = { connId: connection.id, peer, nonce, now: services.clock.now() };
  const result = judgeConnect(frame.params, from, services.admission);
  if (result.kind === "refused") {
    connection.answer(frame.id, { ok: false, error: result.error });
    connection.close(result.closeCode, result.closeReason.slice(0, 120));
    return services.refused(result, peer.address);
  }
  if (result.device !== undefined && !(await isKept(services))) {
    const error = { code: "UNAVAILABLE", message: "the device cannot be kept: the gateway's log has the cause" };
    connection.answer(frame.id, { ok: false, error });
    return connection.close(1011, error.message);
  }
  if (connection.gone.aborted) return;
  connection.caller = result.caller;
  connection.answer(frame.id, { ok: true, payload: services.hello(result) });
  services.joined(connection, result, peer.address);
  settle();
}

async function isKept({ admission, log }: SocketServices): Promise<boolean> {
  try {
    await admission.devices.saved();
    return true;
  } catch (error) {
    log.error("the list of devices could not be written", { error });
    return false;
  }
}

function refuse(connection: ClientConnection, id: string, message: string): void {
  connection.answer(id, { ok: false, error: { code: "INVALID_REQUEST", message } });
  connection.close(1008, message.slice(0, 120));
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
  const go = () => {
    cancel();
    letGo();
  };
  for await (const answer of calls.answers(frame, caller, connection.gone)) {
    connection.answer(frame.id, answer);
    if (answer.ok && calls.beginsRun(frame.method)) connection.whenRead(go);
    else go();
  }
}
