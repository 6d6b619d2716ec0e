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
  readonly sessions: Sessions;
  readonly defaultAgent: () => AgentId;
  readonly tell: (event: GatewayEvent) => void;
}

/** As long as the channel needs to start, or to start again. A client then asks again with the same idempotency key. */
const LISTENER_MS = 10_000;

const notThere = (): MethodError =>
  new MethodError("UNAVAILABLE", "the web channel is not there: it starts, or is switched off in the config", {
    retryAfterMs: LISTENER_MS,
  });

type Take = (said: WebMessage) => Promise<void>;

/** The clients of this gateway, as their channel meets them. */
export class WebClients implements WebClientPort {
  readonly #parts: WebParts;
  #ear = Promise.withResolvers<Take>();

  constructor(parts: WebParts) {
    this.#parts = parts;
  }

  listen(take: Take, signal: AbortSignal): void {
    this.#ear.resolve(take);
    signal.addEventListener("abort", () => (this.#ear = Promise.withResolvers()), { once: true });
  }

  /** Resolves when the channel has it, durably. Throws `MethodError` when the channel is not there within ten seconds. */
  async say(message: WebMessage): Promise<void> {
    const take = await this.#listener();
    await take(message);
  }

  async #listener(): Promise<Take> {
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(() => late.reject(notThere()), LISTENER_MS);
    try {
      return await Promise.race([this.#ear.promise, late.promise]);
    } finally {
      clearTimeout(timer);
    }
  }

  write(chat: string, note: WebNote, key: string): Promise<SendResult> {
    return this.#in(chat, key, async (session, id) => {
      if (await isThere(session, id)) return;
      const { text, media } = note;
      const data = { text, runId: id, ...(media && { media }) };
      await session.append({ type: "custom", customType: NOTICE_TYPE, data }, { id, durable: true });
      this.#parts.tell(newsOf(session, id, text));
    });
  }

  async find(chat: string, key: string): Promise<SendResult> {
    let found = false;
    const looked = await this.#in(chat, key, async (session, id) => void (found = await isThere(session, id)));
    return looked.kind === "sent" && !found ? { kind: "retry", reason: "it is not in the transcript" } : looked;
  }

  /** Waits until the conversation is free. */
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

const isThere = async (session: Session, id: string): Promise<boolean> => (await session.after(id)) !== undefined;

/** As the end of a run that nobody saw: clients read the transcript then. */
function newsOf({ key, agentId }: Session, id: string, text: string): GatewayEvent {
  const message = { role: "assistant", content: [{ type: "text", text }], timestamp: Date.now() };
  return {
    event: "chat",
    payload: { runId: id, sessionKey: key, agentId, seq: 0, state: "final", message },
    scope: "operator.read",
  };
}
