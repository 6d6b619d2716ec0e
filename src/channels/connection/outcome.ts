import type { SendResult } from "../../types/chat/channel.ts";

/** An HTTP answer to a send that failed. */
export interface RefusedCall {
  readonly status: number;
  /** The platform's own text; never a secret. */
  readonly reason: string;
  /** The unparsed header: seconds, or a date. */
  readonly retryAfter?: string | null | undefined;
}

/** Codes of errors that occur before a connection is established: the request was never sent. */
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

/** Answers of a proxy that waited in vain: the platform may have taken the message. */
const NO_ANSWER = new Set([408, 502, 504]);

/** Status codes that concern the request alone. */
const IS_UNFIT = new Set([400, 413, 422]);

/**
 * Result of a send for a platform's answer. After 425, 429 and 5xx the send is retried; any other 4xx is final. An
 * answer that refuses nothing, but is not the expected one, such as 204 or a redirect, says nothing about the message,
 * like the answer of a proxy that waited in vain.
 */
export function answeredOutcome({ status, reason, retryAfter }: RefusedCall): SendResult {
  if (status < 400 || NO_ANSWER.has(status)) return { kind: "unknown", reason };
  if (!isPassingStatus(status)) return { kind: "refused", reason, ...(IS_UNFIT.has(status) && { isUnfit: true }) };
  const afterMs = retryAfterMs(retryAfter);
  return {
    kind: "retry",
    reason,
    ...(afterMs !== undefined && { afterMs }),
    ...(status === 429 && { rateLimited: true }),
  };
}

/** The same request may succeed later: the server was busy, limits its callers, or is down. */
export const isPassingStatus = (status: number): boolean =>
  status === 408 || status === 425 || status === 429 || status >= 500;

/** Result of a send for a network error: `retry` when the request certainly was not sent, else `unknown`. */
export function thrownOutcome(error: unknown, platform: string): SendResult {
  const code = codeOf(error);
  if (code !== undefined && UNREACHED.has(code)) {
    return { kind: "retry", reason: `${platform} cannot be reached (${code})` };
  }
  return { kind: "unknown", reason: `no answer from ${platform} (${code ?? "connection lost"})` };
}

/** The code of an error or of its cause. */
function codeOf(error: unknown): string | undefined {
  for (let at = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth += 1) {
    if ("code" in at && typeof at.code === "string") return at.code;
    if (at instanceof AggregateError) return codeOf(at.errors[0]);
  }
  return undefined;
}

/** The wait in milliseconds that a `Retry-After` header asks for; undefined without a valid one. */
export function retryAfterMs(header: string | null | undefined, now: number = Date.now()): number | undefined {
  if (header === null || header === undefined || header.trim() === "") return undefined;
  const seconds = Number(header);
  const ms = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(header) - now;
  return Number.isFinite(ms) && ms >= 0 ? Math.ceil(ms) : undefined;
}
