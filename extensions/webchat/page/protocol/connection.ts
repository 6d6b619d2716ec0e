import { readFrame, readHello } from "./protocol.ts";
import type { Frame, Hello, Refusal } from "./protocol.ts";
import { fields, number, text } from "./json.ts";
import type { Link } from "../state.ts";

/** A request that the gateway refused. */
export class RefusedError extends Error {
  readonly refusal: Refusal;

  constructor(refusal: Refusal) {
    super(refusal.message);
    this.name = "RefusedError";
    this.refusal = refusal;
  }
}

/** A request whose answer is unknown: the connection went away or stayed silent. Asking again is safe with its key. */
export class LostError extends Error {
  override readonly name = "LostError";
}

/** What the connection tells its owner. None of these may throw. */
export interface ConnectionEvents {
  readonly link: (link: Link) => void;
  readonly ready: (hello: Hello) => void;
  readonly event: (event: string, payload: unknown) => void;
  /** Events were lost on the way; what they said must be read again. */
  readonly gap: () => void;
}

interface Waiting {
  readonly resolve: (payload: unknown) => void;
  readonly reject: (error: Error) => void;
  readonly timer: number;
}

const ANSWER_MS = 30_000;
const LONGEST_WAIT_MS = 20_000;
const SCOPES = ["operator.read", "operator.write", "operator.admin", "operator.approvals", "operator.pairing"];

/** One WebSocket to the gateway that served this page, made anew whenever it goes away. */
export class Connection {
  readonly #events: ConnectionEvents;
  readonly #waiting = new Map<string, Waiting>();
  #token = "";
  #socket: WebSocket | undefined;
  #ready = false;
  #attempt = 0;
  #offline = false;
  #lastSeq = 0;
  #heardAt = 0;
  #reason = "The gateway cannot be reached.";
  #restartMs: number | undefined;
  #retry: number | undefined;
  #watch: number | undefined;

  constructor(events: ConnectionEvents) {
    this.#events = events;
    globalThis.addEventListener("online", () => this.#hurry());
    globalThis.addEventListener("offline", () => this.#checkSilence(0));
    document.addEventListener("visibilitychange", () => this.#hurry());
  }

  /** Connects with a token, at once, whatever the connection did before. */
  open(token: string): void {
    this.#token = token;
    this.#attempt = 0;
    this.#drop();
    this.#dial();
  }

  /** Asks the gateway. Rejects with RefusedError when it says no, with LostError when no answer came. */
  request(method: string, params: Record<string, unknown>): Promise<unknown> {
    if (!this.#ready) return Promise.reject(new LostError("Not connected."));
    return this.#ask(method, params);
  }

  #ask(method: string, params: Record<string, unknown>): Promise<unknown> {
    const id = crypto.randomUUID();
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => this.#settle(id)?.reject(new LostError(`No answer to ${method}.`)), ANSWER_MS);
      this.#waiting.set(id, { resolve, reject, timer });
      this.#socket?.send(JSON.stringify({ type: "req", id, method, params }));
    });
  }

  #settle(id: string): Waiting | undefined {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (waiting !== undefined) clearTimeout(waiting.timer);
    return waiting;
  }

  #dial(): void {
    clearTimeout(this.#retry);
    this.#retry = undefined;
    this.#offline = false;
    this.#events.link({ state: "connecting" });
    const address = new URL("/", location.href);
    address.protocol = location.protocol === "https:" ? "wss:" : "ws:";
    const socket = new WebSocket(address);
    this.#socket = socket;
    this.#heardAt = Date.now();
    this.#watchSilence(15_000);
    socket.addEventListener("message", (message) => {
      if (this.#socket === socket && typeof message.data === "string") this.#hear(message.data);
    });
    socket.addEventListener("close", (closing) => {
      if (this.#socket === socket) this.#lost(closing.reason);
    });
  }

  #hear(raw: string): void {
    this.#heardAt = Date.now();
    const frame = readFrame(raw);
    if (frame === undefined) return;
    if (frame.type === "answer") this.#settle(frame.id)?.resolve(frame.payload);
    if (frame.type === "refusal") this.#settle(frame.id)?.reject(new RefusedError(frame.refusal));
    if (frame.type === "event") this.#applyEvent(frame);
  }

  #applyEvent(frame: Extract<Frame, { type: "event" }>): void {
    if (frame.event === "connect.challenge") {
      this.#introduce().catch((error: unknown) => this.#turnedAway(error));
      return;
    }
    if (frame.seq !== undefined) {
      const missed = this.#lastSeq > 0 && frame.seq > this.#lastSeq + 1;
      this.#lastSeq = frame.seq;
      if (missed) this.#events.gap();
    }
    if (frame.event === "shutdown") this.#shuttingDown(fields(frame.payload));
    this.#events.event(frame.event, frame.payload);
  }

  #shuttingDown(payload: Record<string, unknown>): void {
    this.#reason = text(payload["reason"], "The gateway is restarting.");
    this.#restartMs = number(payload["restartExpectedMs"], 1000);
  }

  async #introduce(): Promise<void> {
    const payload = await this.#ask("connect", {
      minProtocol: 4,
      maxProtocol: 4,
      client: { id: "webchat-ui", version: "0.1.0", platform: "web", mode: "webchat" },
      role: "operator",
      scopes: SCOPES,
      caps: ["tool-events"],
      auth: { token: this.#token },
    });
    const hello = readHello(payload);
    this.#ready = true;
    this.#attempt = 0;
    this.#lastSeq = 0;
    this.#restartMs = undefined;
    this.#reason = "The connection was lost.";
    this.#watchSilence(hello.tickMs * 2);
    this.#events.link({ state: "connected" });
    this.#events.ready(hello);
  }

  #turnedAway(error: unknown): void {
    if (!(error instanceof RefusedError)) return;
    const { code, detail, message, retryAfterMs } = error.refusal;
    if (code === "UNAVAILABLE" && retryAfterMs === undefined) return this.#lost("");
    this.#drop();
    if (retryAfterMs !== undefined) this.#wait(retryAfterMs, message);
    else if (/AUTH|TOKEN|PAIRING|IDENTITY/.test(`${code} ${detail}`))
      this.#events.link({ state: "unauthorized", message });
    else this.#events.link({ state: "refused", message });
  }

  #lost(reason: string): void {
    const refused = !this.#ready && /unauthori[sz]ed|token/i.test(reason);
    this.#drop();
    if (refused) return this.#events.link({ state: "unauthorized", message: reason });
    this.#offline = !navigator.onLine && !isLoopback();
    if (this.#offline) return this.#events.link({ state: "offline" });
    // Half of each wait is drawn by lot, so that many pages do not come back in the same instant.
    const step = Math.min(LONGEST_WAIT_MS, 500 * 2 ** this.#attempt);
    const wait = Math.max(this.#restartMs ?? 0, step / 2 + Math.random() * (step / 2));
    this.#restartMs = undefined;
    this.#attempt += 1;
    this.#wait(wait, this.#reason);
  }

  #wait(milliseconds: number, reason: string): void {
    this.#events.link({ state: "waiting", retryAt: Date.now() + milliseconds, reason });
    this.#retry = setTimeout(() => this.#dial(), milliseconds);
  }

  /** Tries again now instead of waiting: by the person's wish, or because the network or the tab came back. */
  retryNow(): void {
    this.#drop();
    this.#dial();
  }

  #hurry(): void {
    const waiting = this.#offline ? navigator.onLine : this.#retry !== undefined && this.#attempt > 0;
    if (document.visibilityState === "visible" && waiting) this.retryNow();
  }

  #watchSilence(limit: number): void {
    clearInterval(this.#watch);
    this.#watch = setInterval(() => this.#checkSilence(limit), Math.max(250, limit / 4));
  }

  #checkSilence(limit: number): void {
    if (this.#socket === undefined || Date.now() - this.#heardAt <= limit) return;
    if (limit === 0 && isLoopback()) return;
    this.#reason = "The gateway stopped answering.";
    this.#lost("");
  }

  #drop(): void {
    clearInterval(this.#watch);
    clearTimeout(this.#retry);
    this.#retry = undefined;
    const socket = this.#socket;
    this.#socket = undefined;
    this.#ready = false;
    socket?.close();
    for (const id of this.#waiting.keys()) this.#settle(id)?.reject(new LostError("The connection was lost."));
  }
}

function isLoopback(): boolean {
  return /^(localhost|127\.|\[::1\])/.test(location.hostname);
}
