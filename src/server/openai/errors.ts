import type { FastifyReply } from "fastify";
import type { Failure, FailureKind } from "../../types/run/run.ts";

/** An error in OpenAI's shape. */
export interface ApiError {
  readonly status: number;
  readonly message: string;
  readonly type: string;
  readonly code: string | null;
  readonly param?: string;
}

export const errorBody = ({ message, type, code, param }: ApiError) => ({
  error: { message, type, param: param ?? null, code },
});

export function sendError(reply: FastifyReply, error: ApiError): FastifyReply {
  return reply.code(error.status).send(errorBody(error));
}

export function badRequest(message: string, param?: string): ApiError {
  const error = { status: 400, message, type: "invalid_request_error", code: "invalid_request" };
  return param === undefined ? error : { ...error, param };
}

const STATUS: Readonly<Record<FailureKind, number>> = {
  auth: 502,
  billing: 502,
  budget: 429,
  rate_limit: 429,
  overloaded: 503,
  loading: 503,
  timeout: 504,
  context_overflow: 400,
  request_size: 413,
  output_limit: 502,
  thinking_unsupported: 502,
  thinking_refused: 502,
  image_size: 400,
  image_broken: 400,
  role_ordering: 502,
  call_ordering: 502,
  format: 502,
  refusal: 502,
  cut_off: 502,
  network: 502,
  compaction_failure: 400,
  tool_loop: 500,
  engine: 500,
  blocked: 403,
  model_missing: 502,
  unknown: 500,
};

export function fromFailure(failure: Failure): ApiError {
  const status = STATUS[failure.kind];
  const isTooLong = failure.kind === "context_overflow" || failure.kind === "compaction_failure";
  const code = isTooLong ? "context_length_exceeded" : failure.kind;
  return { status, message: failure.message, type: typeOf(status), code };
}

function typeOf(status: number): string {
  if (status === 400 || status === 413) return "invalid_request_error";
  return status === 429 ? "rate_limit_error" : "server_error";
}

/** The run was aborted, or ended without an outcome. */
export const stopped = (message: string): ApiError => ({ status: 503, message, type: "server_error", code: "aborted" });

export const FAILED: ApiError = {
  status: 500,
  message: "The gateway failed; its log has the cause.",
  type: "server_error",
  code: "internal_error",
};
