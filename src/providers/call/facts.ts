import type { FailureKind } from "../../types/run/run.ts";
import { waitIn } from "../failure.ts";
import type { RefusalBody } from "../failure/body.ts";
import { limitResetIn, retryAfterIn } from "../waits.ts";
import type { Wire } from "./wire.ts";

/** Facts about the provider's answer, in addition to its text. */
export interface CallFacts {
  /** The kind of the failure, if it is known without the provider's text. */
  readonly kind?: FailureKind;
  readonly status?: number;
  readonly retryAfterMs?: number;
  readonly requestId?: string;
  /** The provider's error. */
  readonly refusal?: RefusalBody;
  /** Tokens that were requested for the answer. Only for a call that failed. */
  readonly maxOutput?: number;
  /** Bytes of the request. Only for a call that failed. */
  readonly requestBytes?: number;
}

/** Headers with the name of a request, which a provider's support asks for. */
const REQUEST_IDS = [
  "request-id",
  "x-request-id",
  "apim-request-id",
  "x-amzn-requestid",
  "x-goog-request-id",
  "mistral-correlation-id",
  "x-generation-id",
  "cf-ray",
];

/** The facts of a call that ended. `failure` is its error text. Headers take precedence over the text. */
export function callFactsOf(wire: Wire, failure: string | undefined, now: number, refusal?: RefusalBody): CallFacts {
  const { status, headers, sent } = wire;
  const requestId = REQUEST_IDS.map((name) => headers.get(name)).find((id) => id !== undefined);
  const wait = failure === undefined ? undefined : waitOf(wire, `${failure}\n${refusal?.source ?? ""}`, now);
  return {
    ...(status !== undefined && { status }),
    ...(wait !== undefined && { retryAfterMs: Math.round(wait) }),
    ...(requestId !== undefined && { requestId }),
    ...(failure !== undefined && sent !== undefined && { requestBytes: sent }),
  };
}

function waitOf({ status, headers }: Wire, failure: string, now: number): number | undefined {
  const asked = retryAfterIn(headers, now) ?? waitIn(failure);
  // Rate limit headers matter only when a limit was the reason.
  return asked ?? (status === 429 ? limitResetIn(headers, now) : undefined);
}
