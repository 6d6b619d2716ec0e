import { once } from "node:events";
import { onTestFinished } from "vitest";
import { type WebSocket, WebSocketServer } from "ws";
import { z } from "zod";

export const TOKEN = "right-token";

/** What an answer function has at hand. */
export interface Asked {
  readonly params: Readonly<Record<string, unknown>>;
  /** Sends an event to the one who asked. */
  event(name: string, payload: unknown): void;
  /** Cuts the connection. */
  cut(): void;
}

/** The payload, or an error to throw as `Refusal`. Undefined: never answered. */
export type Answers = Readonly<Record<string, (asked: Asked) => unknown>>;

export class Refusal extends Error {
  readonly code: string;
  readonly details: unknown;

  constructor(code: string, message: string, details?: unknown) {
    super(message);
    this.code = code;
    this.details = details;
  }
}

export interface FakeGateway {
  readonly port: number;
  /** Where a command finds it, with its token. */
  readonly env: Readonly<Record<string, string>>;
  /** Every request after the handshake. */
  readonly requests: { readonly method: string; readonly params: Readonly<Record<string, unknown>> }[];
  /** The `connect` parameters of every handshake. */
  readonly connects: Readonly<Record<string, unknown>>[];
}

const request = z.object({
  type: z.literal("req"),
  id: z.string(),
  method: z.string(),
  params: z.record(z.string(), z.unknown()).default({}),
});
const auth = z.looseObject({ auth: z.looseObject({ token: z.string() }).optional() });

/** A server that speaks as much of protocol 4 as a client of it can tell. */
export async function fakeGateway(answers: Answers = {}): Promise<FakeGateway> {
  const server = new WebSocketServer({ host: "127.0.0.1", port: 0 });
  await once(server, "listening");
  onTestFinished(() => {
    for (const client of server.clients) client.terminate();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  const url = `ws://127.0.0.1:${address.port}`;
  const fake: FakeGateway = {
    port: address.port,
    env: { OPENCLAW_GATEWAY_URL: url, OPENCLAW_GATEWAY_TOKEN: TOKEN },
    requests: [],
    connects: [],
  };
  server.on("connection", (socket) => serve(socket, fake, answers));
  return fake;
}

function serve(socket: WebSocket, fake: FakeGateway, answers: Answers): void {
  const send = (frame: object) => socket.send(JSON.stringify(frame));
  const event = (name: string, payload: unknown) => send({ type: "event", event: name, payload });
  event("connect.challenge", { nonce: "n", ts: 1 });
  const call = (method: string, asked: Asked) => {
    fake.requests.push({ method, params: asked.params });
    const answer = answers[method];
    if (!answer) throw new Refusal("INVALID_REQUEST", `unknown method: ${method}`);
    return answer(asked);
  };
  socket.on("message", (data: Buffer) => {
    const { id, method, params } = request.parse(JSON.parse(data.toString("utf8")));
    try {
      const asked = { params, event, cut: () => socket.terminate() };
      const payload = method === "connect" ? welcome(params, fake) : call(method, asked);
      if (payload !== undefined) send({ type: "res", id, ok: true, payload });
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      send({ type: "res", id, ok: false, error: { code: error.code, message: error.message, details: error.details } });
      if (method === "connect") socket.close(1008, error.message);
    }
  });
}

function welcome(params: Readonly<Record<string, unknown>>, fake: FakeGateway): object {
  fake.connects.push(params);
  const token = auth.parse(params).auth?.token;
  if (token === undefined) throw new Refusal("INVALID_REQUEST", "unauthorized", { code: "AUTH_TOKEN_MISSING" });
  if (token !== TOKEN) throw new Refusal("INVALID_REQUEST", "unauthorized", { code: "AUTH_TOKEN_MISMATCH" });
  return {
    type: "hello-ok",
    protocol: 4,
    server: { version: "9.9.9", connId: "c1" },
    features: { methods: [], events: [] },
    snapshot: {},
    auth: { role: "operator", scopes: [] },
    policy: {},
  };
}
