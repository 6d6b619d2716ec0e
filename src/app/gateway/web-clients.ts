import { createHash } from "node:crypto";
import { NOTICE_TYPE } from "../../sessions/transcript/history.ts";
import { OPERATOR_KEY, resolveAlias } from "../../sessions/keys.ts";
import { isDiskError } from "../../store/disk.ts";
import type { SendResult } from "../../types/chat/channel.ts";
import type { AgentId } from "../../types/ids.ts";
import { MethodError, type GatewayEvent } from "../../types/method.ts";
import type { Session, Sessions } from "../../types/session.ts";
import type { WebMessage, WebNote, WebClientPort } from "../../types/chat/web-clients.ts";
import { errorText } from "../../utils/text/error-text.ts";

interface WebParts {
  readonly sessions: Pick<Sessions, "peek" | "acquire">;
  readonly defaultAgent: () => AgentId;
  readonly emit: (event: GatewayEvent) => void;
}

/**
 * Milliseconds that a message waits for the channel to start or restart. A client then retries with the same
 * idempotency key.
 */
const LISTENER_MS = 10_000;

const noListener = (): MethodError =>
  new MethodError("UNAVAILABLE", "the web channel is not available: it is starting, or the config disables it", {
    retryAfterMs: LISTENER_MS,
  });

type Take = (message: WebMessage) => Promise<void>;

/** Connects the clients of this gateway with the web chat adapter. */
export class WebClients implements WebClientPort {
  readonly #parts: WebParts;
  #listener = Promise.withResolvers<Take>();

  constructor(parts: WebParts) {
    this.#parts = parts;
  }

  listen(take: Take, signal: AbortSignal): void {
    if (signal.aborted) return;
    this.#listener.resolve(take);
    const own = Promise.withResolvers<Take>();
    own.resolve(take);
    this.#listener = own;
    const leave = (): void => {
      // A later listener may have taken the place.
      if (this.#listener === own) this.#listener = Promise.withResolvers();
    };
    signal.addEventListener("abort", leave, { once: true });
  }

  /** Resolves when the message is durable. Throws `MethodError` when the channel does not start within ten seconds. */
  async receive(message: WebMessage): Promise<void> {
    const take = await this.#waitForListener();
    await take(message);
  }

  async #waitForListener(): Promise<Take> {
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(() => late.reject(noListener()), LISTENER_MS);
    try {
      return await Promise.race([this.#listener.promise, late.promise]);
    } finally {
      clearTimeout(timer);
    }
  }

  write(chat: string, note: WebNote, key: string): Promise<SendResult> {
    return this.#in(chat, key, async (session, id) => {
      if (await hasEntry(session, id)) return;
      const { text, media } = note;
      const data = { text, runId: id, ...(media && { media }) };
      await session.append({ type: "custom", customType: NOTICE_TYPE, data }, { id, durable: true });
      this.#parts.emit(finalEvent(session, id, text));
    });
  }

  async find(chat: string, key: string): Promise<SendResult> {
    let found = false;
    const result = await this.#in(chat, key, async (session, id) => void (found = await hasEntry(session, id)));
    return result.kind === "sent" && !found ? { kind: "retry", reason: "it is not in the transcript" } : result;
  }

  /** Runs `act` with the session, once no other work holds it. */
  async #in(chat: string, key: string, act: (session: Session, id: string) => Promise<void>): Promise<SendResult> {
    const id = createHash("sha256").update(`webchat\n${key}`).digest("hex").slice(0, 16);
    const { sessions, defaultAgent } = this.#parts;
    const named = resolveAlias(chat, defaultAgent());
    const isKnown = named === OPERATOR_KEY || sessions.peek(named) !== undefined;
    if (!isKnown) return { kind: "refused", reason: `there is no conversation "${chat}"` };
    try {
      const session = await sessions.acquire(named);
      await act(session, id).finally(() => session.release());
      return { kind: "sent", messageId: id };
    } catch (error) {
      const reason = errorText(error);
      return isDiskError(error) ? { kind: "retry", reason } : { kind: "unknown", reason };
    }
  }
}

const hasEntry = async (session: Session, id: string): Promise<boolean> => (await session.after(id)) !== undefined;

/** The event at the end of a run without watchers, after which clients read the transcript. */
function finalEvent({ key, agentId }: Session, id: string, text: string): GatewayEvent {
  const message = { role: "assistant", content: [{ type: "text", text }], timestamp: Date.now() };
  return {
    event: "chat",
    payload: { runId: id, sessionKey: key, agentId, seq: 0, state: "final", message },
    scope: "operator.read",
  };
}
