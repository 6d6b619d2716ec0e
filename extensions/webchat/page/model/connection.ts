import type { Answers } from "openclaw/plugin-sdk/answers";
import { newId } from "../browser/ids.ts";
import { readFrame, readHello } from "./protocol.ts";
import type { GatewayFrame, Hello, RequestRefusal } from "./protocol.ts";
import { fields, number, ownText, stringOr } from "./json.ts";
import type { Link } from "./state.ts";
import { t } from "../words/words.ts";

/** A request that the gateway refused. */
export class RefusedError extends Error {
  readonly refusal: RequestRefusal;

  constructor(refusal: RequestRefusal) {
    super(refusal.message);
    this.name = "RefusedError";
    this.refusal = refusal;
  }
}

/** The gateway's refusal that an error of `Chat.ask` tells of; undefined for another error. */
export const refusalBehind = (error: unknown): RequestRefusal | undefined =>
  error instanceof Error && error.cause instanceof RefusedError ? error.cause.refusal : undefined;

/** A request without an answer: the connection was lost, or the gateway did not answer. It may be repeated with its key. */
export class NoAnswerError extends Error {
  override readonly name = "NoAnswerError";
}

/** Events of the connection. None of the functions may throw. */
export interface ConnectionEvents {
  readonly link: (link: Link) => void;
  readonly ready: (hello: Hello) => void;
  readonly event: (event: string, payload: unknown) => void;
  /** Events were lost, so the data that they reported must be read again. */
  readonly gap: () => void;
}

interface PendingRequest {
  resolve(payload: unknown): void;
  readonly reject: (error: Error) => void;
  readonly timer: number;
}

const ANSWER_MS = 30_000;
const MAX_RETRY_WAIT_MS = 20_000;
const SCOPES = ["operator.read", "operator.write", "operator.admin", "operator.approvals", "operator.pairing"];

/** A WebSocket to the gateway that served this page. It reconnects when the connection is lost. */
export class PageConnection {
  readonly #events: ConnectionEvents;
  readonly #pending = new Map<string, PendingRequest>();
  #token = "";
  #socket: WebSocket | undefined;
  #ready = false;
  #attempt = 0;
  #offline = false;
  #lastSeq = 0;
  #receivedAt = 0;
  #reason = notReached();
  #restartMs: number | undefined;
  #retryTimer: number | undefined;
  #silenceTimer: number | undefined;

  constructor(events: ConnectionEvents) {
    this.#events = events;
    globalThis.addEventListener("online", () => this.#retryIfBack());
    globalThis.addEventListener("offline", () => this.#checkSilence(0));
    document.addEventListener("visibilitychange", () => this.#retryIfBack());
  }

  /** Connects with this token now, and closes an earlier connection. */
  open(token: string): void {
    this.#token = token;
    this.#attempt = 0;
    this.#disconnect();
    this.#connect();
  }

  /** Sends a request. Rejects with RefusedError when the gateway refuses it, with NoAnswerError when no answer comes. */
  request<Method extends keyof Answers>(method: Method, params: Record<string, unknown>): Promise<Answers[Method]> {
    if (!this.#ready) return Promise.reject(new NoAnswerError(t("Not connected.")));
    return this.#send(method, params);
  }

  #send<Payload>(method: string, params: Record<string, unknown>): Promise<Payload> {
    const id = newId();
    return new Promise<Payload>((resolve, reject) => {
      const timer = setTimeout(
        () => this.#takePending(id)?.reject(new NoAnswerError(t("No answer to {method}.", { method }))),
        ANSWER_MS,
      );
      this.#pending.set(id, { resolve, reject, timer });
      this.#socket?.send(JSON.stringify({ type: "req", id, method, params }));
    });
  }

  #takePending(id: string): PendingRequest | undefined {
    const request = this.#pending.get(id);
    this.#pending.delete(id);
    if (request !== undefined) clearTimeout(request.timer);
    return request;
  }

  #connect(): void {
    clearTimeout(this.#retryTimer);
    this.#retryTimer = undefined;
    this.#offline = false;
    this.#events.link({ state: "connecting" });
    const address = new URL("./", location.href);
    address.protocol = location.protocol === "https:" ? "wss:" : "ws:";
    const socket = new WebSocket(address);
    this.#socket = socket;
    this.#receivedAt = Date.now();
    this.#watchSilence(15_000);
    socket.addEventListener("message", (message) => {
      if (this.#socket === socket && typeof message.data === "string") this.#receive(message.data);
    });
    socket.addEventListener("close", (closing) => {
      if (this.#socket === socket) this.#connectionLost(closing.reason);
    });
  }

  #receive(raw: string): void {
    this.#receivedAt = Date.now();
    const frame = readFrame(raw);
    if (frame === undefined) return;
    if (frame.type === "answer") this.#takePending(frame.id)?.resolve(frame.payload);
    if (frame.type === "refusal") this.#takePending(frame.id)?.reject(new RefusedError(frame.refusal));
    if (frame.type === "event") this.#applyEvent(frame);
  }

  #applyEvent(frame: Extract<GatewayFrame, { type: "event" }>): void {
    if (frame.event === "connect.challenge") {
      this.#handshake().catch((error: unknown) => this.#handshakeFailed(error));
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
    this.#reason = stringOr(payload["reason"], t("The gateway is restarting."));
    this.#restartMs = number(payload["restartExpectedMs"], 1000);
  }

  async #handshake(): Promise<void> {
    const payload = await this.#send<unknown>("connect", {
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
    this.#reason = t("The connection was lost.");
    this.#watchSilence(hello.tickMs * 2);
    this.#events.link({ state: "connected" });
    this.#events.ready(hello);
  }

  #handshakeFailed(error: unknown): void {
    if (!(error instanceof RefusedError)) return;
    const { code, detail, retryAfterMs } = error.refusal;
    const message = ownText(SIGN_IN_REFUSALS, detail) ?? error.refusal.message.replace(/^unauthorized: /, "");
    if (code === "UNAVAILABLE" && retryAfterMs === undefined) return this.#connectionLost("");
    this.#disconnect();
    if (retryAfterMs !== undefined) this.#retryAfter(retryAfterMs, message);
    else if (/AUTH|TOKEN|PAIRING|IDENTITY/.test(`${code} ${detail}`))
      this.#events.link({ state: "unauthorized", message });
    else this.#events.link({ state: "refused", message });
  }

  #connectionLost(reason: string): void {
    const refused = !this.#ready && /unauthori[sz]ed|token/i.test(reason);
    this.#disconnect();
    if (refused) return this.#events.link({ state: "unauthorized", message: reason.replace(/^unauthorized: /, "") });
    this.#offline = !navigator.onLine && !isLoopback();
    if (this.#offline) return this.#events.link({ state: "offline" });
    // Half of each wait is random, so that many pages do not reconnect at the same moment.
    const step = Math.min(MAX_RETRY_WAIT_MS, 500 * 2 ** this.#attempt);
    const wait = Math.max(this.#restartMs ?? 0, step / 2 + Math.random() * (step / 2));
    this.#restartMs = undefined;
    this.#attempt += 1;
    this.#retryAfter(wait, this.#reason);
  }

  #retryAfter(milliseconds: number, reason: string): void {
    this.#events.link({ state: "waiting", retryAt: Date.now() + milliseconds, reason });
    this.#retryTimer = setTimeout(() => this.#connect(), milliseconds);
  }

  /** Reconnects now instead of waiting: on the person's request, or because the network or the tab is back. */
  retryNow(): void {
    this.#disconnect();
    this.#connect();
  }

  #retryIfBack(): void {
    const canRetry = this.#offline ? navigator.onLine : this.#retryTimer !== undefined && this.#attempt > 0;
    if (document.visibilityState === "visible" && canRetry) this.retryNow();
  }

  #watchSilence(limit: number): void {
    clearInterval(this.#silenceTimer);
    this.#silenceTimer = setInterval(() => this.#checkSilence(limit), Math.max(250, limit / 4));
  }

  #checkSilence(limit: number): void {
    if (this.#socket === undefined || Date.now() - this.#receivedAt <= limit) return;
    if (limit === 0 && isLoopback()) return;
    this.#reason = t("The gateway stopped answering.");
    this.#connectionLost("");
  }

  #disconnect(): void {
    clearInterval(this.#silenceTimer);
    clearTimeout(this.#retryTimer);
    this.#retryTimer = undefined;
    const socket = this.#socket;
    this.#socket = undefined;
    this.#ready = false;
    socket?.close();
    for (const id of this.#pending.keys())
      this.#takePending(id)?.reject(new NoAnswerError(t("The connection was lost.")));
  }
}

/** Refusals that a person at the page can do something about, by `details.code`. */
const SIGN_IN_REFUSALS: Readonly<Record<string, string>> = {
  AUTH_TOKEN_MISSING: "",
  AUTH_TOKEN_MISMATCH: t("The gateway does not accept this token: it is incomplete, or the gateway has a new one."),
  AUTH_RATE_LIMITED: t("Too many wrong tokens came from this address, so the gateway accepts none for a while."),
};

/** A browser does not tell a page why it got no connection: a gateway takes none from an address that it is not told to trust. */
function notReached(): string {
  if (isLoopback()) return t("The gateway cannot be reached.");
  return t(
    "The gateway cannot be reached. If it is running, gateway.controlUi.allowedOrigins in its configuration may lack {origin}, or a proxy may let no WebSocket through.",
    { origin: location.origin },
  );
}

function isLoopback(): boolean {
  return /^(localhost|127\.|\[::1\])/.test(location.hostname);
}
