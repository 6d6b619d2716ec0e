import { GrammyError, HttpError } from "grammy";
import { answeredOutcome, OpenClawError, thrownOutcome } from "openclaw/plugin-sdk";
import type { SendResult } from "openclaw/plugin-sdk";

/** Classes of failed calls, with Telegram's text if it answered. */
export type CallFailure =
  | {
      readonly kind: "answered";
      readonly code: number;
      readonly text: string;
      readonly retryAfterMs?: number;
      readonly movedTo?: number;
    }
  /** The request never reached a server. */
  | { readonly kind: "unreached"; readonly text: string; readonly fix?: string }
  /** The request was sent, and there was no answer. */
  | { readonly kind: "unanswered"; readonly text: string };

/** Classifies an error of grammY. The text never contains the token. */
export function failureOf(error: unknown): CallFailure {
  if (error instanceof GrammyError) return answered(error);
  const cause = error instanceof HttpError ? error.error : error;
  const outcome = thrownOutcome(cause, "Telegram");
  if (outcome.kind === "retry") return { kind: "unreached", text: outcome.reason };
  const reason = cause instanceof Error ? cause.message : "";
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : unansweredReason(reason);
  if (isConnectTimeout(code, reason)) return { kind: "unreached", text: `Telegram cannot be reached (${code})` };
  if (reason.includes("Proxy response"))
    return { kind: "unreached", text: "the proxy does not lead to Telegram", fix: PROXY_FIX };
  return { kind: "unanswered", text: `no answer from Telegram (${code})` };
}

/** A proxy or a self-hosted server may leave the description out. */
const textOf = (description: unknown): string =>
  typeof description === "string" && description !== "" ? description : "no reason given";

function answered({ error_code: code, description, parameters }: GrammyError): CallFailure {
  const { retry_after: wait, migrate_to_chat_id: movedTo } = parameters;
  const text = textOf(description);
  return {
    kind: "answered",
    code,
    text,
    ...(wait !== undefined && { retryAfterMs: wait * 1000 }),
    ...(movedTo !== undefined && { movedTo }),
  };
}

// When several addresses were tried, Node leaves the reason empty; no connection was made.
const isConnectTimeout = (code: string, reason: string): boolean =>
  code === "ETIMEDOUT" && (reason.includes("connect ETIMEDOUT") || reason === "");

function unansweredReason(reason: string): string {
  if (reason.includes("timed out")) return "timeout";
  if (reason.includes("JSON")) return "not JSON";
  return "connection lost";
}

/** Result of a send for a failure: whether the message may have arrived. */
export function outcomeOf(failure: CallFailure): SendResult {
  if (failure.kind === "unreached") return { kind: "retry", reason: failure.text };
  if (failure.kind === "unanswered") return { kind: "unknown", reason: failure.text };
  // Telegram will take the message when the token is replaced.
  if (failure.code === 401) return { kind: "retry", reason: failure.text, fix: TOKEN_FIX };
  const { code: status, text: reason, retryAfterMs: ms } = failure;
  const outcome = answeredOutcome({ status, reason, ...(ms !== undefined && { retryAfter: String(ms / 1000) }) });
  return outcome.kind === "refused" && OF_CHAT.test(reason) ? { kind: "refused", reason } : outcome;
}

/** Telegram answers 400 also when a chat takes nothing from the bot. */
const OF_CHAT = /chat|user|peer|group|channel|topic|thread|rights|admin|member|blocked|forbidden|restricted/i;

const PROXY_FIX = "Check channels.telegram.proxy and the proxy that it names, or remove the key.";

export const TOKEN_FIX = "Check channels.telegram.botToken; @BotFather shows the current one.";

/** Telegram answers 401 to a revoked token and 404 to one that never existed. */
export const isBadToken = (failure: CallFailure): boolean =>
  failure.kind === "answered" && (failure.code === 401 || failure.code === 404);

export const badToken = (text: string): OpenClawError =>
  new OpenClawError("CHANNEL_AUTH", { message: `Telegram does not know this bot token (${text}).`, fix: TOKEN_FIX });
