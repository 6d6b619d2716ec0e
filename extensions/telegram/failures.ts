import { OpenClawError } from "openclaw/plugin-sdk";
import type { SendResult } from "openclaw/plugin-sdk";

/** What a failed call means, in Telegram's words where it answered. */
export type Failure =
  | {
      readonly kind: "answered";
      readonly code: number;
      readonly text: string;
      readonly retryAfterMs?: number;
      readonly movedTo?: number;
    }
  /** The request never reached a server. */
  | { readonly kind: "unreached"; readonly text: string }
  /** The request left and no answer came back. */
  | { readonly kind: "unanswered"; readonly text: string };

const UNREACHED = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENETDOWN",
  "EADDRNOTAVAIL",
  "UND_ERR_CONNECT_TIMEOUT",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "CERT_HAS_EXPIRED",
  "ERR_TLS_CERT_ALTNAME_INVALID",
]);

/** Reads what grammY threw. The text never holds the token. */
export function failureOf(error: unknown): Failure {
  const answer = fields(error);
  if (typeof answer["error_code"] === "number") return answered(answer["error_code"], answer);
  const cause = fields(answer["error"]);
  const code = typeof cause["code"] === "string" ? cause["code"] : undefined;
  const reason = typeof cause["message"] === "string" ? cause["message"] : "";
  if (code !== undefined && (UNREACHED.has(code) || isConnectTimeout(code, reason))) {
    return { kind: "unreached", text: `Telegram cannot be reached (${code})` };
  }
  return { kind: "unanswered", text: `no answer from Telegram (${code ?? unansweredReason(reason)})` };
}

function answered(code: number, answer: Readonly<Record<string, unknown>>): Failure {
  const text = typeof answer["description"] === "string" ? answer["description"] : `error ${code}`;
  const parameters = fields(answer["parameters"]);
  const wait = parameters["retry_after"];
  const moved = parameters["migrate_to_chat_id"];
  return {
    kind: "answered",
    code,
    text,
    ...(typeof wait === "number" && { retryAfterMs: wait * 1000 }),
    ...(typeof moved === "number" && { movedTo: moved }),
  };
}

// Where several addresses were tried, Node leaves the reason empty: still nothing was connected.
const isConnectTimeout = (code: string, reason: string): boolean =>
  code === "ETIMEDOUT" && (reason.includes("connect ETIMEDOUT") || reason.endsWith("reason: "));

function unansweredReason(reason: string): string {
  if (reason.includes("timed out")) return "timeout";
  if (reason.includes("invalid json")) return "not JSON";
  return "connection lost";
}

const fields = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null
    ? Object.fromEntries(FIELDS.map((name) => [name, Reflect.get(value, name)]))
    : {};
const FIELDS = [
  "error_code",
  "description",
  "parameters",
  "retry_after",
  "migrate_to_chat_id",
  "error",
  "code",
  "message",
];

/** Did a send that failed so arrive? */
export function resultOf(failure: Failure): SendResult {
  if (failure.kind === "unreached") return { kind: "retry", reason: failure.text };
  if (failure.kind === "unanswered") return { kind: "unknown", reason: failure.text };
  if (failure.code === 429) {
    return { kind: "retry", reason: failure.text, rateLimited: true, ...waitOf(failure) };
  }
  if (failure.code >= 500) return { kind: "retry", reason: failure.text, ...waitOf(failure) };
  return { kind: "refused", reason: failure.text };
}

const waitOf = (failure: { readonly retryAfterMs?: number }): { afterMs?: number } =>
  failure.retryAfterMs === undefined ? {} : { afterMs: failure.retryAfterMs };

export const TOKEN_FIX = "Check channels.telegram.botToken; @BotFather shows the current one.";

/** Telegram answers 401 to a revoked token and 404 to one that never was. */
export const isBadToken = (failure: Failure): boolean =>
  failure.kind === "answered" && (failure.code === 401 || failure.code === 404);

export const badToken = (text: string): OpenClawError =>
  new OpenClawError("CHANNEL_AUTH", { message: `Telegram does not know this bot token (${text}).`, fix: TOKEN_FIX });
