import { setTimeout as pause } from "node:timers/promises";
import { WebSocket, type RawData } from "ws";
import { until } from "../../kit/until.ts";
import { fill, nameOf, type Answers, type Row } from "./row.ts";

export type Frame = Readonly<Record<string, unknown>>;

/** What one request brought, in the order in which it came. */
export interface Recorded {
  readonly row: string;
  readonly method: string;
  readonly params: unknown;
  /** That of the request's frame; its answers have it too. */
  readonly id: string;
  /** The answers and events between this request and the next one. */
  readonly frames: readonly { readonly ms: number; readonly frame: Frame }[];
}

const ANSWER_MS = 60_000;
const RUN_MS = 30_000;
const SECOND_ANSWER_MS = 10_000;
const RECONNECT_MS = 60_000;
const MOST_MS = 5_000;
/** A gateway tells of jobs that its start runs. */
const START_QUIET_MS = 3_000;
const START_MOST_MS = 20_000;

/** One operator's connection to a gateway, which opens again when the gateway has closed it. */
export class Recorder {
  readonly #url: string;
  readonly #token: string;
  /** Milliseconds without a frame after which a request is taken to have brought everything. */
  readonly #quietMs: number;
  #socket: WebSocket | undefined;
  #frames: { readonly ms: number; readonly frame: Frame }[] = [];
  #lastAt = 0;
  #next = 1;

  constructor(url: string, token: string, quietMs: number) {
    this.#url = url;
    this.#token = token;
    this.#quietMs = quietMs;
  }

  /** Sends the rows one after the other. */
  async play(rows: readonly Row[], tell: (recorded: Recorded) => void): Promise<Recorded[]> {
    const answers = new Map<string, unknown>();
    const all = [await this.#connect()];
    // Approvals are asked of the other clients.
    const watcher = new Recorder(this.#url, this.#token, this.#quietMs);
    await watcher.#connect();
    await this.#untilQuiet(START_QUIET_MS, START_MOST_MS);
    for (const row of rows) {
      const recorded = await this.#request(row, answers);
      answers.set(nameOf(row), answersIn(recorded)[0]?.["payload"]);
      tell(recorded);
      all.push(recorded);
    }
    watcher.#socket?.terminate();
    this.#socket?.terminate();
    return all;
  }

  async #request(row: Row, answers: Answers): Promise<Recorded> {
    if (this.#socket?.readyState !== WebSocket.OPEN) await this.#connect();
    const params = fill(row.params ?? {}, answers);
    const id = String(this.#next++);
    this.#begin();
    this.#socket?.send(JSON.stringify({ type: "req", id, method: row.method, params }));
    await this.#patiently(() => this.#answered(id) > 0 || this.#isClosed(), ANSWER_MS);
    const [first] = this.#frames.filter(({ frame }) => frame["id"] === id);
    if (first?.frame["ok"] === true && row.until === "run") {
      const runs = runIdsOf(first.frame, params);
      await this.#patiently(() => this.#frames.some(({ frame }) => endsRun(frame, runs)), RUN_MS);
    }
    if (first?.frame["ok"] === true && row.until === "second answer") {
      await this.#patiently(() => this.#answered(id) > 1, SECOND_ANSWER_MS);
    }
    if (row.until === "answer") await pause(this.#quietMs);
    else await this.#untilQuiet(this.#quietMs, MOST_MS);
    return { row: nameOf(row), method: row.method, params, id, frames: this.#taken() };
  }

  async #connect(): Promise<Recorded> {
    const params = connectParams(this.#token);
    const opens = async () => {
      this.#begin();
      this.#socket = this.#open();
      await this.#patiently(() => this.#frames.length > 0 || this.#isClosed(), ANSWER_MS);
      if (this.#isClosed()) return false;
      this.#socket.send(JSON.stringify({ type: "req", id: "connect", method: "connect", params }));
      await this.#patiently(() => this.#answered("connect") > 0 || this.#isClosed(), ANSWER_MS);
      return this.#frames.some(({ frame }) => frame["id"] === "connect" && frame["ok"] === true);
    };
    await until(opens, `a connection to ${this.#url}`, RECONNECT_MS).catch((error: unknown) => {
      throw new Error(`the gateway refuses the client: ${JSON.stringify(this.#frames)}`, { cause: error });
    });
    return { row: "connect", method: "connect", params, id: "connect", frames: this.#taken() };
  }

  #open(): WebSocket {
    const socket = new WebSocket(this.#url);
    socket.on("message", (data) => this.#take(data));
    socket.on("error", () => undefined);
    return socket;
  }

  #take(data: RawData): void {
    const frame = JSON.parse(Buffer.isBuffer(data) ? data.toString("utf8") : "{}") as Frame;
    this.#lastAt = performance.now();
    this.#frames.push({ ms: this.#lastAt, frame });
  }

  #begin(): void {
    this.#frames = [];
    this.#lastAt = performance.now();
  }

  /** Ends after `mostMs` also when frames go on and on. */
  async #untilQuiet(quietMs: number, mostMs: number): Promise<void> {
    const last = performance.now() + mostMs;
    while (performance.now() - this.#lastAt < quietMs && performance.now() < last) await pause(20);
  }

  /** The frames so far; times are those since the first of them. */
  #taken(): Recorded["frames"] {
    const began = this.#frames[0]?.ms ?? 0;
    return this.#frames.map(({ ms, frame }) => ({ ms: Math.round(ms - began), frame }));
  }

  #answered = (id: string) => this.#frames.filter(({ frame }) => frame["id"] === id).length;
  #isClosed = () => (this.#socket?.readyState ?? WebSocket.CLOSED) >= WebSocket.CLOSING;

  /** Goes on without it when it does not come: what is missing is what the comparison reports. */
  async #patiently(holds: () => boolean, ms: number): Promise<void> {
    await until(holds, "frames", ms).catch(() => undefined);
  }
}

/** The answers to the request, without the events and the late answers to earlier requests. */
export const answersIn = ({ id, frames }: Recorded): Frame[] =>
  frames.map(({ frame }) => frame).filter((frame) => frame["id"] === id);

const connectParams = (token: string) => ({
  minProtocol: 4,
  maxProtocol: 4,
  client: { id: "gateway-client", version: "2026.9.6", platform: "linux", mode: "backend" },
  role: "operator",
  scopes: ["read", "write", "admin", "approvals", "pairing", "questions", "talk.secrets"].map(
    (one) => `operator.${one}`,
  ),
  caps: ["tool-events", "approvals", "exec-approvals", "plugin-approvals", "task-suggestions"],
  auth: { token },
});

/** What names the run that a request starts: its answer, or its idempotency key. */
function runIdsOf(answer: Frame, params: unknown): readonly unknown[] {
  const payload = answer["payload"] as { runId?: unknown } | undefined;
  const key = (params as { idempotencyKey?: unknown }).idempotencyKey;
  return [payload?.runId, key].filter((id) => id !== undefined);
}

const ENDS = new Set<unknown>(["final", "aborted", "error"]);

function endsRun(frame: Frame, runs: readonly unknown[]): boolean {
  const payload = frame["payload"] as { runId?: unknown; state?: unknown; action?: unknown } | undefined;
  if (frame["event"] === "cron") return payload?.action === "finished";
  return frame["event"] === "chat" && runs.includes(payload?.runId) && ENDS.has(payload?.state);
}
