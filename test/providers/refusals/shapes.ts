import type { Failure, FailureKind } from "../../../src/types/run/run.ts";

/** One refusal as a provider sent it, with where it was seen. */
export interface RefusalCase {
  readonly provider: string;
  readonly api: RefusalApi;
  readonly status: number;
  /**
   * As it came; names of organizations, keys and requests are made up. Where the source quotes only the message, it is in the
   * wrapper that this API puts around its messages.
   */
  readonly body: unknown;
  readonly kind: FailureKind;
  /** Figures that the refusal tells. */
  readonly figures?: Pick<Failure, "limitTokens" | "requestedTokens" | "maxOutputTokens" | "isOfRequest">;
  readonly source: string;
}

export type RefusalApi =
  | "openai-completions"
  | "openai-responses"
  | "anthropic-messages"
  | "google-generative-ai"
  | "bedrock-converse-stream";

/** Cases of one provider. */
export const of = (
  provider: string,
  api: RefusalApi,
  cases: readonly Omit<RefusalCase, "provider" | "api">[],
): readonly RefusalCase[] => cases.map((one) => ({ provider, api, ...one }));

export const CHAT = "openai-completions";
export const chat = { api: CHAT } as const;

export const anthropic = (type: string, message: string) => ({
  type: "error",
  error: { type, message },
  request_id: "req_1",
});

export const openAi = (message: string, type = "invalid_request_error", code: string | null = null) => ({
  error: { message, type, param: null, code },
});

/** vLLM's shape before 0.10: nothing called `error`. */
export const vllm = (message: string) => ({
  object: "error",
  message,
  type: "BadRequestError",
  param: null,
  code: 400,
});

export const google = (code: number, status: string, message: string, details?: readonly object[]) => ({
  error: { code, message, status, ...(details && { details }) },
});

/** llama.cpp's server. */
export const llama = (code: number, type: string, message: string, figures: object = {}) => ({
  error: { code, message, type, ...figures },
});

/** AWS names the exception in a header, and here beside the message. */
export const aws = (exception: string, message: string) => ({ __type: exception, message });
