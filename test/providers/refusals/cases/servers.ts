import { CHAT, chat, llama, of, openAi, vllm, type RefusalCase } from "../shapes.ts";

const VLLM = of("vLLM", CHAT, [
  {
    status: 400,
    kind: "role_ordering",
    body: vllm(
      "After the optional system message, conversation roles must alternate user/assistant/user/assistant/...",
    ),
    source: "https://github.com/vllm-project/vllm/issues/6862",
  },
  {
    status: 400,
    kind: "context_overflow",
    figures: { limitTokens: 131_072, requestedTokens: 351_430 },
    body: vllm(
      "This model's maximum context length is 131072 tokens. However, you requested 351430 tokens. Please reduce the length of the messages or completion.",
    ),
    source: "https://github.com/THUDM/LongBench/issues/104",
  },
  {
    status: 400,
    kind: "role_ordering",
    body: openAi(
      "Conversation roles must alternate user/assistant/user/assistant/... Conversation roles must alternate user/assistant/user/assistant/..",
      "BadRequestError",
    ),
    source: "https://github.com/Yoosu-L/llmapibenchmark/issues/6",
  },
]);

const SGLANG = of("SGLang", CHAT, [
  {
    status: 401,
    kind: "auth",
    body: { error: "Unauthorized" },
    source: "https://github.com/sgl-project/sglang/issues/25127",
  },
  {
    status: 400,
    kind: "context_overflow",
    figures: { limitTokens: 40_960, requestedTokens: 61_709 },
    body: vllm("The input (61709 tokens) is longer than the model's context length (40960 tokens)."),
    source: "https://github.com/QwenLM/Qwen3/issues/1321",
  },
  {
    status: 400,
    kind: "context_overflow",
    figures: { limitTokens: 59_862, requestedTokens: 160_062 },
    body: vllm("Input length (160062 tokens) exceeds the maximum allowed length (59862 tokens)."),
    source: "https://github.com/sgl-project/sglang/issues/4048",
  },
]);

const LLAMA_CPP = of("llama.cpp", CHAT, [
  {
    status: 500,
    kind: "context_overflow",
    body: llama(500, "server_error", "Context size has been exceeded."),
    source: "https://github.com/ggml-org/llama.cpp/issues/19774",
  },
  {
    status: 400,
    kind: "context_overflow",
    figures: { limitTokens: 4096, requestedTokens: 4390 },
    body: llama(
      400,
      "exceed_context_size_error",
      "request (4390 tokens) exceeds the available context size (4096 tokens), try increasing it",
    ),
    source: "https://github.com/ggml-org/llama.cpp/issues/19774",
  },
  {
    status: 500,
    kind: "context_overflow",
    figures: { limitTokens: 256, requestedTokens: 1407 },
    body: llama(
      500,
      "exceed_context_size_error",
      "the request exceeds the available context size. try increasing the context size or enable context shift",
      { n_prompt_tokens: 1407, n_ctx: 256 },
    ),
    source: "https://github.com/ggml-org/llama.cpp/pull/15780",
  },
  {
    status: 400,
    kind: "context_overflow",
    figures: { limitTokens: 100_096, requestedTokens: 120_737 },
    body: llama(
      400,
      "exceed_context_size_error",
      "request (120737 tokens) exceeds the available context size (100096 tokens), try increasing it",
      { n_prompt_tokens: 120_737, n_ctx: 100_096 },
    ),
    source: "https://github.com/llmmllab/llmmllab-api/issues/188",
  },
]);

const LM_STUDIO = [
  ...of("LM Studio", CHAT, [
    {
      status: 404,
      kind: "model_missing",
      body: {
        error: {
          message: "No models loaded. Please load a model in the developer page or use the `lms load` command.",
          type: "invalid_request_error",
          param: "model",
          code: "model_not_found",
        },
      },
      source: "https://github.com/canopyai/Orpheus-TTS/issues/229",
    },
  ]),
  ...of("LM Studio's Responses API", "openai-responses", [
    {
      status: 404,
      kind: "model_missing",
      body: {
        error: {
          message: "No models loaded. Please load a model in the developer page or use the 'lms load' command.",
          type: "invalid_request_error",
          param: "model",
          code: null,
        },
      },
      source: "https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/1730",
    },
  ]),
];

const OLLAMA = of("Ollama", CHAT, [
  {
    status: 404,
    kind: "model_missing",
    body: { error: { message: "model 'llama2' not found, try pulling it first", type: "api_error" } },
    source: "https://github.com/ollama/ollama-python/issues/149",
  },
  {
    status: 500,
    kind: "network",
    body: {
      error: {
        message: "model requires more system memory (2.7 GiB) than is available (2.3 GiB)",
        type: "api_error",
      },
    },
    source: "https://github.com/continuedev/continue/issues/11478",
  },
  {
    status: 500,
    kind: "network",
    body: {
      error: {
        message:
          "llama-server process has terminated: exit status 1: error loading model: llama_model_loader: failed to load model from C:\\Users\\u\\.ollama\\models\\blobs\\sha256-667b0c19",
        type: "api_error",
      },
    },
    source: "https://github.com/continuedev/continue/issues/12713",
  },
]);

const TGI = of("TGI", CHAT, [
  {
    status: 422,
    kind: "context_overflow",
    figures: { limitTokens: 65_537, requestedTokens: 81_017 },
    body: {
      error:
        "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 65537. Given: 79993 `inputs` tokens and 1024 `max_new_tokens`",
    },
    source: "https://github.com/bytedance/UI-TARS-desktop/issues/626",
  },
  {
    status: 422,
    kind: "output_limit",
    figures: { limitTokens: 8192, requestedTokens: 8251, maxOutputTokens: 1988 },
    body: {
      error:
        "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8192. Given: 6204 `inputs` tokens and 2047 `max_new_tokens`",
      error_type: "validation",
    },
    source: "https://github.com/huggingface/chat-ui/issues/1149",
  },
]);

/** Servers that people run themselves. */
export const SERVERS: readonly RefusalCase[] = [
  ...VLLM,
  ...SGLANG,
  ...LLAMA_CPP,
  ...LM_STUDIO,
  ...OLLAMA,
  ...TGI,
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
    source: "https://github.com/mostlygeek/llama-swap/issues/146",
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
