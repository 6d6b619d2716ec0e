import { randomUUID } from "node:crypto";
import { stat } from "node:fs/promises";
import type { RawData, WebSocket } from "ws";
import { z } from "zod";
import type { OpenClawError } from "../../types/errors.ts";
import { unlessMissing } from "../../utils/missing.ts";
import { Feed } from "../../utils/feed.ts";
import { packageVersion } from "../package-root.ts";
import type { Address } from "./address.ts";
import { callError, connectError, otherState, unreachable, whileStarting } from "./client-errors.ts";
import type { ErrorShape } from "../../server/transport/frames.ts";

const PROTOCOL = 4;
const CONNECT_MS = 5000;
const CALL_MS = 30_000;
const MAX_PAYLOAD = 26_214_400;
const SCOPES = ["operator.read", "operator.write", "operator.admin", "operator.approvals", "operator.pairing"];

export interface ClientEvent {
  readonly event: string;
  readonly payload: unknown;
}

export interface GatewayClient {
  readonly url: string;
  /** Version of the gateway. */
  readonly version: string;
  /**
   * One method, its answer in the given shape. Throws `OpenClawError`: GATEWAY_UNREACHABLE when the connection is lost or no
   * answer comes in `timeoutMs` (30,000), else the equivalent of the gateway's error.
   */
  call<T>(method: string, params: object, shape: z.ZodType<T>, timeoutMs?: number): Promise<T>;
  /** Events from now on, until the connection closes or the reader leaves. */
  events(): AsyncIterableIterator<ClientEvent>;
  close(): void;
}

const errorShape = z.looseObject({ code: z.string(), message: z.string(), details: z.unknown().optional() });
const frame = z.discriminatedUnion("type", [
  z.looseObject({
    type: z.literal("res"),
    id: z.string(),
    ok: z.boolean(),
    payload: z.unknown().optional(),
    error: errorShape.optional(),
  }),
  z.looseObject({ type: z.literal("event"), event: z.string(), payload: z.unknown().optional() }),
]);
type Frame = z.infer<typeof frame>;

const hello = z.looseObject({
  server: z.looseObject({ version: z.string() }),
  snapshot: z.looseObject({ stateDir: z.string().optional() }).optional(),
});

/**
 * Connects and shows the token. Throws GATEWAY_UNREACHABLE, also for the gateway of another state directory, GATEWAY_UNAUTHORIZED or
 * GATEWAY_BUSY.
 */
export async function connectGateway(address: Address, timeoutMs = CONNECT_MS): Promise<GatewayClient> {
  const { WebSocket: Socket } = await import("ws");
  const options = { handshakeTimeout: timeoutMs, maxPayload: MAX_PAYLOAD, perMessageDeflate: false };
  const connection = new Connection(new Socket(address.url, options), address.url);
  try {
    await connection.challenged(timeoutMs);
    const greeting = await connection.request("connect", connectParams(address), timeoutMs);
    if (!greeting.ok) throw connectError(address, greeting.error);
    const { server, snapshot } = hello.parse(greeting.payload);
    await requireSame(address, snapshot?.stateDir);
    return connection.client(server.version);
  } catch (error) {
    connection.close();
    throw whileStarting(address, error);
  }
}

/** A copy of a state directory has the port and the token of the original. A directory that is not on this machine may be mounted elsewhere. */
async function requireSame({ url, stateDir }: Address, theirs: string | undefined): Promise<void> {
  if (stateDir === undefined || theirs === undefined || stateDir === theirs) return;
  const [own, other] = await Promise.all([stateDir, theirs].map((dir) => unlessMissing(stat(dir, { bigint: true }))));
  if (other && (own?.dev !== other.dev || own.ino !== other.ino)) throw otherState(url, stateDir, theirs);
}

function connectParams({ token, password }: Address): object {
  const auth = { ...(token && { token: token.reveal() }), ...(password && { password: password.reveal() }) };
  return {
    minProtocol: PROTOCOL,
    maxProtocol: PROTOCOL,
    client: { id: "cli", version: packageVersion(), platform: process.platform, mode: "cli" },
    role: "operator",
    scopes: SCOPES,
    caps: [],
    ...((token ?? password) && { auth }),
  };
}

type Answer = { readonly ok: true; readonly payload: unknown } | { readonly ok: false; readonly error: ErrorShape };

interface Waiting {
  resolve(answer: Answer): void;
  reject(error: Error): void;
}

class Connection {
  readonly #socket: WebSocket;
  readonly #url: string;
  readonly #waiting = new Map<string, Waiting>();
  readonly #events = new Feed<ClientEvent>();
  readonly #challenge = Promise.withResolvers<void>();
  #lost: OpenClawError | undefined;

  constructor(socket: WebSocket, url: string) {
    this.#socket = socket;
    this.#url = url;
    // A pending call gets the error; without one, the next call does.
    this.#challenge.promise.catch(() => undefined);
    socket.on("message", (data) => this.#take(data));
    socket.on("error", (error) => this.#lose(unreachable(url, error.message)));
    socket.on("close", (code, reason) => this.#lose(unreachable(url, closeReason(code, reason.toString("utf8")))));
  }

  challenged(timeoutMs: number): Promise<void> {
    return this.#inTime(this.#challenge.promise, timeoutMs);
  }

  request(method: string, params: object, timeoutMs: number): Promise<Answer> {
    if (this.#lost) return Promise.reject(this.#lost);
    const id = randomUUID();
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    this.#waiting.set(id, { resolve, reject });
    this.#socket.send(JSON.stringify({ type: "req", id, method, params }));
    return this.#inTime(promise, timeoutMs).finally(() => this.#waiting.delete(id));
  }

  client(version: string): GatewayClient {
    return {
      url: this.#url,
      version,
      call: async (method, params, shape, timeoutMs = CALL_MS) => {
        const answer = await this.request(method, params, timeoutMs);
        if (!answer.ok) throw callError(method, answer.error);
        return parseAnswer(method, shape, answer.payload);
      },
      events: () => this.#events.watch(),
      close: () => this.close(),
    };
  }

  close(): void {
    this.#lose(unreachable(this.#url, "the connection was closed here"));
    this.#socket.terminate();
  }

  #take(data: RawData): void {
    const parsed = parseFrame(data);
    if (parsed?.type === "res") this.#waiting.get(parsed.id)?.resolve(answerOf(parsed));
    if (parsed?.type !== "event") return;
    if (parsed.event === "connect.challenge") this.#challenge.resolve();
    this.#events.publish({ event: parsed.event, payload: parsed.payload });
  }

  #lose(error: OpenClawError): void {
    this.#lost ??= error;
    this.#challenge.reject(this.#lost);
    for (const { reject } of this.#waiting.values()) reject(this.#lost);
    this.#waiting.clear();
    this.#events.close();
  }

  async #inTime<T>(work: Promise<T>, timeoutMs: number): Promise<T> {
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(() => late.reject(unreachable(this.#url, `no answer within ${timeoutMs} ms`)), timeoutMs);
    try {
      return await Promise.race([work, late.promise]);
    } finally {
      clearTimeout(timer);
    }
  }
}

function parseFrame(data: RawData): Frame | undefined {
  const bytes = Array.isArray(data) ? Buffer.concat(data) : Buffer.from(new Uint8Array(data));
  try {
    const json: unknown = JSON.parse(bytes.toString("utf8"));
    return frame.safeParse(json).data;
  } catch {
    // Not JSON, so not a frame of this protocol; no request waits for it.
    return undefined;
  }
}

function answerOf(parsed: Extract<Frame, { type: "res" }>): Answer {
  if (parsed.ok) return { ok: true, payload: parsed.payload };
  return { ok: false, error: parsed.error ?? { code: "UNAVAILABLE", message: "an error without words" } };
}

function parseAnswer<T>(method: string, shape: z.ZodType<T>, payload: unknown): T {
  const parsed = shape.safeParse(payload);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new Error(`${method} was answered in an unknown shape: ${issue?.path.join(".")}: ${issue?.message}`);
}

const closeReason = (code: number, reason: string): string =>
  reason === "" ? `it closed the connection (${code})` : `it closed the connection: ${reason}`;
