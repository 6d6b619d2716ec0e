import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { WebSocketServer } from "ws";
import type { z } from "zod";
import { ANSWERS } from "../../src/api/answers.ts";
import type { WebSocket } from "ws";

/** The policy that the real gateway serves the page with. */
export const CSP = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "media-src 'self' blob:",
  "worker-src 'self'",
  "manifest-src 'self'",
  "connect-src 'self' ws: wss:",
  "font-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

const NO_MODEL = { modelProvider: null, model: null };
export const TOKEN = "a-token-for-the-test";
const MAIN = "webchat:default:operator";

type Json = Record<string, unknown>;

/** A gateway in memory: it keeps transcripts, and a test decides what a run says. */
export class FakeGateway {
  readonly asked: { method: string; params: Json }[] = [];
  readonly histories = new Map<string, Json[]>();
  readonly sent = new Map<string, string>();
  readonly approvals: Json[] = [];
  pairings: Json[] = [];
  turnedAway: Json[] = [];
  problems: Json[] = [];
  /** What readiness tells, beside the config's problems. */
  waits: string[] = [];
  rows: Json[] = [];
  /** Answers of methods that only some tests ask for. */
  readonly answers = new Map<string, (params: Json) => unknown>();
  tickIntervalMs = 15_000;
  /** Drops the connection instead of answering the next `chat.send`, after the message was taken. */
  loseNextAnswer = false;
  /** Refuses connections, as a gateway does for pages of an address that its configuration does not name. */
  refusesSockets = false;
  #files: ReadonlyMap<string, { type: string; body: Uint8Array }>;
  #http = createServer((request, response) => this.#serve(request, response));
  #sockets = new WebSocketServer({ noServer: true });
  #seq = 0;
  #runSeq = 0;

  constructor(files: ReadonlyMap<string, { type: string; body: Uint8Array }>) {
    this.#files = files;
    this.#http.on("upgrade", (request, socket, head) => {
      if (this.refusesSockets) return void socket.end("HTTP/1.1 403 Forbidden\r\nConnection: close\r\n\r\n");
      this.#sockets.handleUpgrade(request, socket, head, (client) => this.#welcome(client));
    });
  }

  async listen(port = 0): Promise<number> {
    await new Promise<void>((resolve) => this.#http.listen(port, "127.0.0.1", resolve));
    return (this.#http.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    this.cut();
    this.#http.closeAllConnections();
    await new Promise((resolve) => this.#http.close(resolve));
  }

  /** Ends every connection, as a crash would. */
  cut(): void {
    for (const client of this.#sockets.clients) client.terminate();
  }

  emit(event: string, payload: Json): void {
    this.#seq += 1;
    const frame = JSON.stringify({ type: "event", event, payload, seq: this.#seq });
    for (const client of this.#sockets.clients) client.send(frame);
  }

  chat(runId: string, payload: Json, sessionKey = MAIN): void {
    this.#runSeq += 1;
    this.emit("chat", { runId, sessionKey, agentId: "main", seq: this.#runSeq, ...payload });
  }

  agent(runId: string, stream: string, data: Json): void {
    this.#runSeq += 1;
    this.emit("agent", { runId, sessionKey: MAIN, agentId: "main", stream, data, seq: this.#runSeq, ts: Date.now() });
  }

  /** Streams a text in pieces. */
  stream(runId: string, pieces: readonly string[]): void {
    let whole = "";
    for (const piece of pieces) {
      whole += piece;
      this.chat(runId, { state: "delta", deltaText: piece, message: said("assistant", whole) });
    }
  }

  write(message: Json, sessionKey = MAIN): void {
    const messages = this.histories.get(sessionKey) ?? [];
    const seq = messages.length + 1;
    messages.push({ ...message, __openclaw: { id: `m${seq}`, seq } });
    this.histories.set(sessionKey, messages);
  }

  /** Writes the answer and says that the run is over. */
  finish(runId: string, text: string, sessionKey = MAIN): void {
    const message = {
      ...said("assistant", text),
      model: "echo-agent",
      usage: { input: 1200, output: 34, cacheRead: 0, cost: { total: 0.0042 } },
    };
    this.write({ ...message, stopReason: "stop" }, sessionKey);
    this.chat(runId, { state: "final", stopReason: "stop", message }, sessionKey);
  }

  #serve(request: IncomingMessage, response: ServerResponse): void {
    const name = new URL(request.url ?? "/", "http://x").pathname;
    const file = this.#files.get(name === "/" ? "/index.html" : name);
    response.writeHead(file === undefined ? 404 : 200, {
      "content-type": file?.type ?? "text/plain",
      "content-security-policy": CSP,
    });
    response.end(file?.body);
  }

  #welcome(client: WebSocket): void {
    client.send(JSON.stringify({ type: "event", event: "connect.challenge", payload: { nonce: "n", ts: Date.now() } }));
    client.on("message", (data: Buffer) => {
      const { id, method, params } = JSON.parse(data.toString()) as { id: string; method: string; params: Json };
      this.asked.push({ method, params });
      if (method === "chat.send" && this.loseNextAnswer) {
        this.loseNextAnswer = false;
        this.#answer(method, params);
        client.terminate();
        return;
      }
      const own = this.answers.get(method);
      if (own) {
        const reply = (answer: unknown) => client.send(JSON.stringify({ type: "res", id, ...outcome(method, answer) }));
        void Promise.resolve(own(params)).then(reply);
        return;
      }
      const payload = this.#answer(method, params);
      const error = "error" in payload ? payload["error"] : undefined;
      if (error === undefined) checkAnswer(method, payload);
      client.send(JSON.stringify({ type: "res", id, ok: error === undefined, ...(error ? { error } : { payload }) }));
      if (method === "connect" && error !== undefined) client.close(1008, "unauthorized");
    });
  }

  #answer(method: string, params: Json): Json | readonly Json[] {
    switch (method) {
      case "connect":
        return this.#hello(params);
      case "chat.history":
        return this.#history(String(params["sessionKey"]));
      case "chat.send":
        return this.#send(params);
      case "sessions.list":
        return { ts: Date.now(), sessions: this.rows, defaults: { modelProvider: "demo", model: "echo-agent" } };
      case "sessions.patch":
        this.rows = this.rows.map((row) => (row["key"] === params["key"] ? { ...row, ...params } : row));
        return { ok: true, key: params["key"], entry: { sessionId: "s", updatedAt: 1 }, resolved: NO_MODEL };
      case "models.list":
        return {
          models: [
            {
              id: "echo-agent",
              name: "Echo",
              provider: "demo",
              contextWindow: 8000,
              reasoning: false,
              available: true,
            },
            { id: "large", name: "Large", provider: "acme", contextWindow: 200_000, reasoning: true, available: true },
          ],
        };
      case "exec.approval.list":
        return this.approvals;
      case "plugin.approval.list":
        return [];
      case "pairing.list":
        return { requests: this.pairings, turnedAway: this.turnedAway };
      case "status":
        return {
          config: { problems: this.problems },
          ready: { ok: true, problems: [...this.waits, ...this.problems.map((problem) => problem["message"])] },
          model: { provider: "demo", id: "echo-agent", demo: true },
        };
      case "sessions.delete":
        return { ok: true, key: params["key"], deleted: true, archived: [] };
      case "exec.approval.resolve":
        return { ok: true, ...params };
      case "chat.abort":
        return { ok: true, aborted: true, runIds: [] };
      case "pairing.approve":
        return { ok: true, request: this.pairings[0] };
      default:
        return { ok: true };
    }
  }

  #hello(params: Json): Json {
    const auth = params["auth"] as Json | undefined;
    if (auth?.["token"] !== TOKEN) {
      const details = { code: "AUTH_TOKEN_MISMATCH" };
      return { error: { code: "INVALID_REQUEST", message: "unauthorized: the token is wrong", details } };
    }
    return {
      type: "hello-ok",
      protocol: 4,
      server: { version: "0.1.0", connId: "c" },
      features: { methods: ["exec.approval.list", "pairing.list", ...this.answers.keys()], events: [] },
      snapshot: {},
      auth: { role: "operator", scopes: params["scopes"] },
      policy: {
        maxPayload: 26_214_400,
        maxBufferedBytes: 52_428_800,
        tickIntervalMs: this.tickIntervalMs,
        attachments: { maxBytes: 5_000_000, maxImageBytes: 5_000_000 },
      },
    };
  }

  #history(key: string): Json {
    const messages = this.histories.get(key === "main" ? MAIN : key) ?? [];
    return { sessionKey: key, sessionId: "s", messages, hasMore: false, totalMessages: messages.length };
  }

  #send(params: Json): Json {
    const runId = String(params["idempotencyKey"]);
    const key = String(params["sessionKey"]);
    const isNew = !this.sent.has(runId);
    this.sent.set(runId, String(params["message"]));
    const sessionKey = key === "main" ? MAIN : key;
    if (isNew) this.write({ ...said("user", String(params["message"])) }, sessionKey);
    return { runId, status: isNew ? "started" : "ok" };
  }
}

/** An answer of a test that refuses; `field` names the answer of a form that is wrong. */
export class Refusal {
  readonly message: string;
  readonly field: string;

  constructor(message: string, field: string) {
    this.message = message;
    this.field = field;
  }
}

function outcome(method: string, answer: unknown): Json {
  if (!(answer instanceof Refusal)) return { ok: true, payload: checkAnswer(method, answer) };
  const { message, field } = answer;
  return { ok: false, error: { code: "INVALID_REQUEST", message, details: { code: "CHANNEL_SETUP", field } } };
}

/** Throws when the answer has not the shape that the gateway's method states. */
function checkAnswer(method: string, answer: unknown): unknown {
  const known: Readonly<Record<string, z.ZodType>> = ANSWERS;
  known[method]?.parse(answer);
  return answer;
}

/** A transcript message of one text. */
export function said(role: string, text: string): Json {
  return { role, content: [{ type: "text", text }], timestamp: Date.now() };
}
