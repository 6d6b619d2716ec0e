import type { Failure, FailureKind } from "../../../src/types/run.ts";

/** One refusal as a provider sent it, with where it was seen. */
export interface RefusalCase {
  readonly provider: string;
  readonly api: "openai-completions" | "openai-responses" | "anthropic-messages" | "google-generative-ai";
  readonly status: number;
  /** As it came; names of organizations and requests are made up. */
  readonly body: unknown;
  readonly kind: FailureKind;
  /** Figures that the refusal tells. */
  readonly figures?: Pick<Failure, "limitTokens" | "requestedTokens" | "maxOutputTokens">;
  readonly source: string;
}

const chat = { api: "openai-completions" } as const;
const anthropic = (type: string, message: string) => ({ type: "error", error: { type, message }, request_id: "req_1" });
const openAi = (message: string, type = "invalid_request_error", code: string | null = null) => ({
  error: { message, type, param: null, code },
});
/** vLLM's shape before 0.10: nothing called `error`. */
const vllm = (message: string) => ({ object: "error", message, type: "BadRequestError", param: null, code: 400 });

export const REFUSALS: readonly RefusalCase[] = [
  {
    ...chat,
    provider: "Groq",
    status: 413,
    body: openAi(
      "Request too large for model `llama-3.3-70b-versatile` in organization `org_01` service tier `on_demand` on tokens per minute (TPM): Limit 12000, Requested 14137, please reduce your message size and try again. Need more tokens? Upgrade to Dev Tier today at https://console.groq.com/settings/billing",
      "tokens",
      "rate_limit_exceeded",
    ),
    // 8,192 of what was requested are the answer's: the question alone would fit.
    kind: "output_limit",
    figures: { limitTokens: 12_000, requestedTokens: 14_137, maxOutputTokens: 6055 },
    source: "https://github.com/continuedev/continue/issues/10218",
  },
  {
    ...chat,
    provider: "Groq",
    status: 413,
    body: openAi(
      "Request too large for model `llama-3.1-70b-versatile` in organization `org_01` on tokens per minute (TPM): Limit 6000, Requested 14368, please reduce your message size and try again. Visit https://console.groq.com/docs/rate-limits for more information.",
      "tokens",
      "rate_limit_exceeded",
    ),
    kind: "context_overflow",
    figures: { limitTokens: 6000, requestedTokens: 14_368 },
    source: "https://github.com/assafelovic/gpt-researcher/issues/985",
  },
  {
    ...chat,
    provider: "Groq",
    status: 429,
    body: openAi(
      "Rate limit reached for model `llama-3.3-70b-versatile` in organization `org_01` service tier `on_demand` on tokens per day (TPD): Limit 100000, Used 97050, Requested 3619. Please try again in 9m38.016s. Need more tokens? Upgrade to Dev Tier today at https://console.groq.com/settings/billing",
      "tokens",
      "rate_limit_exceeded",
    ),
    kind: "rate_limit",
    source: "https://github.com/continuedev/continue/issues/10920",
  },
  {
    ...chat,
    provider: "Groq",
    status: 400,
    body: openAi(
      "Organization has been restricted. Please reach out to support if you believe this was in error.",
      "invalid_request_error",
      "organization_restricted",
    ),
    kind: "auth",
    source: "https://github.com/crewAIInc/crewAI/issues/783",
  },
  {
    ...chat,
    provider: "OpenAI",
    status: 429,
    body: openAi(
      "Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 342389. The input or output tokens must be reduced in order to run successfully. Visit https://platform.openai.com/account/rate-limits to learn more.",
      "tokens",
      "rate_limit_exceeded",
    ),
    kind: "context_overflow",
    figures: { limitTokens: 30_000, requestedTokens: 342_389 },
    source: "https://github.com/vanna-ai/vanna-flask/issues/11",
  },
  {
    ...chat,
    provider: "OpenAI",
    status: 400,
    body: openAi(
      "This model's maximum context length is 4097 tokens. However, you requested 4203 tokens (3703 in the messages, 500 in the completion). Please reduce the length of the messages or completion.",
      "invalid_request_error",
      "context_length_exceeded",
    ),
    kind: "context_overflow",
    figures: { limitTokens: 4097, requestedTokens: 4203 },
    source: "https://github.com/The-Vibe-Company/quivr/issues/505",
  },
  {
    ...chat,
    provider: "OpenAI",
    status: 429,
    body: { error: { message: "You have run out of it.", type: "insufficient_quota", code: "insufficient_quota" } },
    kind: "billing",
    source: "https://platform.openai.com/docs/guides/error-codes",
  },
  {
    ...chat,
    provider: "xAI",
    status: 403,
    body: {
      code: "The caller does not have permission to execute the specified operation",
      error:
        "Content violates usage guidelines. Team: t, API key ID: k, Model: grok-4-0709, Failed check: SAFETY_CHECK_TYPE_BIO",
    },
    kind: "refusal",
    source: "https://github.com/UKGovernmentBEIS/inspect_ai/pull/2267",
  },
  {
    ...chat,
    provider: "xAI",
    status: 403,
    body: { code: "permission-denied", error: "Content violates usage guidelines. " },
    kind: "refusal",
    source: "https://github.com/Wei-Shaw/sub2api/issues/4785",
  },
  {
    ...chat,
    provider: "xAI",
    status: 403,
    body: {
      code: "The caller does not have permission to execute the specified operation",
      error:
        "Your newly created teams doesn't have any credits yet. You can purchase credits on https://console.x.ai/team/c853730f.",
    },
    kind: "billing",
    source: "https://github.com/griptape-ai/griptape-nodes-engine/issues/1079",
  },
  {
    ...chat,
    provider: "xAI",
    status: 403,
    body: {
      code: "x",
      error: "You have run out of credits or need a Grok subscription. Add credits at https://grok.com/?_s=usage",
    },
    kind: "billing",
    source: "https://github.com/Wei-Shaw/sub2api/issues/4069",
  },
  {
    ...chat,
    provider: "xAI",
    status: 429,
    body: {
      code: "Some resource has been exhausted",
      error:
        "Your team t has either used all available credits or reached its monthly spending limit. To continue making API requests, please purchase more credits or raise your spending limit.",
    },
    kind: "billing",
    source: "https://github.com/continuedev/continue/issues/10373",
  },
  {
    ...chat,
    provider: "xAI",
    status: 403,
    body: {
      code: "permission-denied",
      error: "Access to the chat endpoint is denied. Please ensure you're using the correct credentials.",
    },
    kind: "auth",
    source: "https://github.com/decolua/9router/issues/2559",
  },
  {
    ...chat,
    provider: "OpenRouter",
    status: 403,
    body: {
      error: {
        message: "Key limit exceeded (total limit). Manage it using https://openrouter.ai/settings/keys",
        code: 403,
      },
    },
    kind: "billing",
    source: "https://github.com/MCPJam/inspector/issues/1287",
  },
  {
    ...chat,
    provider: "OpenRouter",
    status: 402,
    body: {
      error: {
        message:
          "This request requires more credits, or fewer max_tokens. You requested up to 65536 tokens, but can only afford 5333. To increase, visit https://openrouter.ai/settings/credits and upgrade to a paid account",
        code: 402,
      },
    },
    kind: "output_limit",
    figures: { maxOutputTokens: 5333 },
    source: "https://github.com/can1357/oh-my-pi/issues/9569",
  },
  {
    ...chat,
    provider: "OpenRouter, when next to nothing is left",
    status: 402,
    body: {
      error: {
        message:
          "This request requires more credits, or fewer max_tokens. You requested up to 65536 tokens, but can only afford 12.",
        code: 402,
      },
    },
    kind: "billing",
    source: "https://github.com/can1357/oh-my-pi/issues/9569",
  },
  {
    api: "anthropic-messages",
    provider: "Anthropic",
    status: 400,
    body: anthropic(
      "invalid_request_error",
      "You have reached your specified API usage limits. You will regain access on 2026-04-01 at 00:00 UTC.",
    ),
    kind: "billing",
    source: "https://github.com/anthropics/claude-code/issues/38035",
  },
  {
    api: "anthropic-messages",
    provider: "Anthropic",
    status: 400,
    body: anthropic(
      "invalid_request_error",
      "This credential is only authorized for use with Claude Code and cannot be used for other API requests.",
    ),
    kind: "auth",
    source: "https://github.com/anthropics/claude-code/issues/8046",
  },
  {
    api: "anthropic-messages",
    provider: "Anthropic",
    status: 400,
    body: anthropic("invalid_request_error", "prompt is too long: 213462 tokens > 200000 maximum"),
    kind: "context_overflow",
    figures: { limitTokens: 200_000, requestedTokens: 213_462 },
    source: "https://docs.anthropic.com/en/api/errors",
  },
  {
    ...chat,
    provider: "DeepSeek",
    status: 400,
    body: openAi("Content Exists Risk", "invalid_request_error", "invalid_request_error"),
    kind: "refusal",
    source: "https://github.com/666ghj/BettaFish/issues/108",
  },
  {
    ...chat,
    provider: "DeepSeek, in FastAPI's shape",
    status: 400,
    body: { detail: "Content Exists Risk" },
    kind: "refusal",
    source: "https://github.com/deepseek-ai/DeepSeek-V2/issues/30",
  },
  {
    ...chat,
    provider: "DeepSeek",
    status: 400,
    body: openAi(
      "deepseek-reasoner does not support successive user or assistant messages (messages[0] and messages[1] in your input). You should interleave the user/assistant messages in the message sequence.",
      "invalid_request_error",
      "invalid_request_error",
    ),
    kind: "role_ordering",
    source: "https://github.com/deepseek-ai/DeepSeek-R1/issues/21",
  },
  {
    ...chat,
    provider: "vLLM",
    status: 400,
    body: vllm('"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'),
    kind: "format",
    source: "https://github.com/langchain4j/langchain4j/issues/3475",
  },
  {
    ...chat,
    provider: "vLLM",
    status: 400,
    body: vllm(
      "This model's maximum context length is 6048 tokens. However, you requested 6616 tokens (568 in the messages, 6048 in the completion). Please reduce the length of the messages or completion.",
    ),
    kind: "output_limit",
    figures: { limitTokens: 6048, requestedTokens: 6616, maxOutputTokens: 5480 },
    source: "https://github.com/ogx-ai/ogx/issues/4534",
  },
  {
    ...chat,
    provider: "vLLM",
    status: 400,
    body: vllm(
      "This model's maximum context length is 16384 tokens. However, you requested 122946 tokens (112946 in the messages, 10000 in the completion). Please reduce the length of the messages or completion.",
    ),
    kind: "context_overflow",
    figures: { limitTokens: 16_384, requestedTokens: 122_946 },
    source: "https://github.com/vllm-project/vllm/issues/20409",
  },
  {
    ...chat,
    provider: "vLLM 0.20",
    status: 400,
    body: openAi(
      "This model's maximum context length is 128000 tokens. However, you requested 65535 output tokens and your prompt contains at least 62466 input tokens, for a total of at least 128001 tokens.",
      "BadRequestError",
    ),
    kind: "output_limit",
    figures: { limitTokens: 128_000, maxOutputTokens: 16_383 },
    source: "https://github.com/vllm-project/vllm/issues/42474",
  },
  {
    ...chat,
    provider: "llama.cpp",
    status: 400,
    body: {
      error: {
        code: 400,
        message:
          "the request exceeds the available context size. try increasing the context size or enable context shift",
        type: "exceed_context_size_error",
        n_prompt_tokens: 14_429,
        n_ctx: 8192,
      },
    },
    kind: "context_overflow",
    figures: { limitTokens: 8192, requestedTokens: 14_429 },
    source: "https://github.com/oobabooga/textgen/issues/7257",
  },
  {
    ...chat,
    provider: "llama.cpp",
    status: 500,
    body: { error: { code: 500, message: "image input is not supported by this server", type: "server_error" } },
    kind: "image_broken",
    source: "https://github.com/ggml-org/llama.cpp/issues/13566",
  },
  {
    ...chat,
    provider: "llama.cpp",
    status: 500,
    body: { error: { code: 500, message: "Unsupported param: tools", type: "server_error" } },
    kind: "format",
    source: "https://github.com/ggml-org/llama.cpp/issues/10920",
  },
  {
    ...chat,
    provider: "llama.cpp",
    status: 503,
    body: { error: { code: 503, message: "Loading model", type: "unavailable_error" } },
    kind: "loading",
    source: "https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md",
  },
  {
    ...chat,
    provider: "Hugging Face",
    status: 503,
    body: { error: "Model Qwen/Qwen2-VL-2B-Instruct is currently loading", estimated_time: 176.7 },
    kind: "loading",
    source: "https://github.com/huggingface/huggingface_hub/issues/2763",
  },
  {
    ...chat,
    provider: "LM Studio",
    status: 400,
    body: { error: "The model has crashed without additional information. (Exit code: 18446744072635812000)" },
    kind: "network",
    source: "https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/1347",
  },
  {
    ...chat,
    provider: "LM Studio",
    status: 400,
    body: {
      error:
        "Trying to keep the first 10136 tokens when context the overflows. However, the model is loaded with context length of only 7866 tokens, which is not enough. Try to load the model with a larger context length, or provide a shorter input.",
    },
    kind: "context_overflow",
    figures: { limitTokens: 7866, requestedTokens: 10_136 },
    source: "https://github.com/cline/cline/issues/3664",
  },
  {
    ...chat,
    provider: "LM Studio",
    status: 400,
    body: {
      error:
        "The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 10247 >= n_ctx: 4096). Try to load the model with a larger context length, or provide a shorter prompt.",
    },
    kind: "context_overflow",
    figures: { limitTokens: 4096, requestedTokens: 10_247 },
    source: "https://github.com/tinyhumansai/openhuman/issues/3550",
  },
  {
    ...chat,
    provider: "TGI",
    status: 422,
    body: {
      error: "Input validation error: `inputs` must have less than 1024 tokens. Given: 1168",
      error_type: "validation",
    },
    kind: "context_overflow",
    figures: { limitTokens: 1024, requestedTokens: 1168 },
    source: "https://github.com/huggingface/text-generation-inference/issues/695",
  },
  {
    ...chat,
    provider: "TGI",
    status: 422,
    body: {
      error: {
        message:
          "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 8740 `inputs` tokens and 500 `max_new_tokens`",
        http_status_code: 422,
      },
    },
    kind: "context_overflow",
    figures: { limitTokens: 4096, requestedTokens: 9240 },
    source: "https://github.com/huggingface/huggingface_hub/issues/2763",
  },
  {
    ...chat,
    provider: "TGI",
    status: 422,
    body: {
      error:
        "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 32768. Given: 20000 `inputs` tokens and 16384 `max_new_tokens`",
      error_type: "validation",
    },
    kind: "output_limit",
    figures: { limitTokens: 32_768, requestedTokens: 36_384, maxOutputTokens: 12_768 },
    source: "https://github.com/barun-saha/slide-deck-ai/issues/44",
  },
];

/** What no row knows, and what must not be taken for something that it is not. */
export const UNKNOWN: readonly Omit<RefusalCase, "kind">[] = [
  {
    ...chat,
    provider: "FastAPI",
    status: 400,
    body: { detail: "The tea is cold today" },
    source: "https://fastapi.tiangolo.com/tutorial/handling-errors/",
  },
  {
    ...chat,
    provider: "vLLM",
    status: 400,
    body: vllm("The tea is cold today"),
    source: "https://github.com/langchain4j/langchain4j/issues/3475",
  },
  {
    ...chat,
    provider: "Mistral behind OpenAI's API",
    status: 400,
    body: { object: "error", message: "The tea is cold today" },
    source: "https://docs.mistral.ai/api",
  },
  { ...chat, provider: "a proxy", status: 400, body: "The tea is cold today", source: "" },
  { ...chat, provider: "a list", status: 400, body: [{ error: { message: "The tea is cold today" } }], source: "" },
];
