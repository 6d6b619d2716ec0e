import type { SendResult } from "../../types/chat/channel.ts";

/** An HTTP answer to a send that did not succeed. */
export interface RefusedCall {
  readonly status: number;
  /** The platform's own words; never a secret. */
  readonly reason: string;
  /** The header as it came: seconds, or a date. */
  readonly retryAfter?: string | null | undefined;
}

/** Codes of errors before a connection stood: the request never left. */
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

/**
 * What a platform's answer means for a send: 429 and 5xx did not take it and are worth another try, any other refusal is
 * the end. 502 and 504 come from something in front of the platform, which may have taken it.
 */
export function answeredOutcome({ status, reason, retryAfter }: RefusedCall): SendResult {
  if (status === 502 || status === 504) return { kind: "unknown", reason };
  if (status !== 429 && status < 500) return { kind: "refused", reason };
  const afterMs = retryAfterMs(retryAfter);
  return {
    kind: "retry",
    reason,
    ...(afterMs !== undefined && { afterMs }),
    ...(status === 429 && { rateLimited: true }),
  };
}

/** What was asked for may be had later: the server was busy, limits its callers, or is down. */
export const isPassingStatus = (status: number): boolean =>
  status === 408 || status === 425 || status === 429 || status >= 500;

/** What a thrown network error means for a send: `retry` when the request certainly never left, else `unknown`. */
export function thrownOutcome(error: unknown, platform: string): SendResult {
  const code = codeOf(error);
  if (code !== undefined && UNREACHED.has(code)) {
    return { kind: "retry", reason: `${platform} cannot be reached (${code})` };
  }
  return { kind: "unknown", reason: `no answer from ${platform} (${code ?? "connection lost"})` };
}

/** The code of an error or of what caused it. */
function codeOf(error: unknown): string | undefined {
  for (let at = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth += 1) {
    if ("code" in at && typeof at.code === "string") return at.code;
    if (at instanceof AggregateError) return codeOf(at.errors[0]);
  }
  return undefined;
}

/** Milliseconds that a `Retry-After` header asks for; undefined when there is none that makes sense. */
export function retryAfterMs(header: string | null | undefined, now: number = Date.now()): number | undefined {
  if (header === null || header === undefined || header.trim() === "") return undefined;
  const seconds = Number(header);
  const ms = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(header) - now;
  return Number.isFinite(ms) && ms >= 0 ? Math.ceil(ms) : undefined;
}
