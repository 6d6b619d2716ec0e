import { OpenClawError } from "../../../../types/errors.ts";
import { isFields, type Fields } from "../../../../utils/fields.ts";
import { errorText } from "../../../../utils/text/error-text.ts";
import type { BridgedChannel } from "./plugin-object.ts";

/** Facts in an error of a plugin's channel, in the forms of the usual HTTP libraries and platform SDKs. */
export interface ThrownFacts {
  /** HTTP status. */
  readonly status?: number;
  /** Milliseconds after which the platform takes the message. */
  readonly retryAfterMs?: number;
  /** The platform refuses the account's token or login. */
  readonly isAuth: boolean;
}

/** Errors name their cause, and libraries wrap the answer of the server. */
const MOST_DEPTH = 4;
const INSIDE = ["response", "cause", "error", "data", "body", "parameters"] as const;
const STATUS = ["status", "statusCode", "httpStatus", "error_code", "code"] as const;

const REFUSED_LOGIN =
  /\b(?:unauthori[sz]ed|not_authed|(?:invalid|expired|revoked|bad)[ _-](?:auth|token|access[ _-]token|api[ _-]key|credentials?|client)|(?:auth|access|bot|api)?[ _-]?token(?: is| has been)?[ _-](?:invalid|expired|revoked|missing))\b/i;

export function thrownFacts(error: unknown): ThrownFacts {
  const parts = partsOf(error);
  const status = parts.map(statusIn).find((one) => one !== undefined);
  const retryAfterMs = parts.map(retryAfterIn).find((one) => one !== undefined);
  const isAuth = status === 401 || status === 403 || (status === undefined && REFUSED_LOGIN.test(errorText(error)));
  return {
    isAuth,
    ...(status !== undefined && { status }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  };
}

/** The error, and the objects inside it that may hold an answer. */
function partsOf(error: unknown): readonly Fields[] {
  const parts: Fields[] = [];
  let level: readonly unknown[] = [error];
  for (let depth = 0; depth < MOST_DEPTH; depth++) {
    const found = level.filter(isFields);
    parts.push(...found);
    level = found.flatMap((one) => INSIDE.map((key) => one[key]));
  }
  return parts;
}

function statusIn(part: Fields): number | undefined {
  for (const key of STATUS) {
    const status = Number(part[key] ?? Number.NaN);
    if (Number.isInteger(status) && status >= 400 && status < 600) return status;
  }
  return undefined;
}

/** A platform may ask for hours. With more, one wrong number of a plugin would silence the account for good. */
const LONGEST_WAIT_MS = 24 * 3600 * 1000;

const retryAfterIn = (part: Fields): number | undefined => {
  const ms = askedWaitIn(part);
  return ms === undefined ? undefined : Math.min(ms, LONGEST_WAIT_MS);
};

/** `retryAfterMs` in milliseconds; every other name in seconds, as in the header. */
function askedWaitIn(part: Fields): number | undefined {
  const ms = part["retryAfterMs"];
  if (typeof ms === "number" && ms >= 0) return ms;
  const given = part["retryAfter"] ?? part["retry_after"] ?? headerIn(part["headers"]);
  if (typeof given !== "number" && typeof given !== "string") return undefined;
  if (typeof given === "string" && given.trim() === "") return undefined;
  const seconds = Number(given);
  const after = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(String(given)) - Date.now();
  return Number.isFinite(after) && after >= 0 ? Math.ceil(after) : undefined;
}

function headerIn(headers: unknown): unknown {
  if (headers instanceof Headers) return headers.get("retry-after") ?? undefined;
  return isFields(headers) ? (headers["retry-after"] ?? headers["Retry-After"]) : undefined;
}

/** Step for the operator when the platform refuses the account. */
export const loginFix = ({ id }: Pick<BridgedChannel, "id">): string =>
  `Correct the token or login in channels.${id}, or link the account: openclaw channels login --channel ${id}`;

/** The error of an account that the platform refuses; undefined for any other failure. */
export function refusedLogin(channel: BridgedChannel, error: unknown): OpenClawError | undefined {
  if (error instanceof OpenClawError || !thrownFacts(error).isAuth) return undefined;
  return new OpenClawError("CHANNEL_AUTH", {
    message: `${channel.label} refuses the account: ${errorText(error)}`,
    fix: loginFix(channel),
    cause: error,
  });
}
