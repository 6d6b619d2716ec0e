import { anthropic, aws, CHAT, chat, of, openAi, type RefusalCase } from "../shapes.ts";

const GROQ = of("Groq", CHAT, [
  {
    status: 401,
    kind: "auth",
    body: { error: { message: "Invalid API Key", type: "invalid_request_error", code: "invalid_api_key" } },
    source: "https://github.com/ag5826000/resume-commentor/issues/4",
  },
  {
    status: 400,
    kind: "model_missing",
    body: {
      error: {
        message:
          "The model `llama-3.1-70b-versatile` has been decommissioned and is no longer supported. Please refer to https://console.groq.com/docs/deprecations for a recommendation on which model to use instead.",
        type: "invalid_request_error",
        code: "model_decommissioned",
      },
    },
    source: "https://github.com/tarinagarwal/learnify/issues/31",
  },
  {
    status: 404,
    kind: "model_missing",
    body: {
      error: {
        message: "The model `llama-3.3-70b-versatile` does not exist or you do not have access to it.",
        type: "invalid_request_error",
        code: "model_not_found",
      },
    },
    source: "https://github.com/ITSpecialist111/ai_automation_suggester/issues/187",
  },
  {
    status: 400,
    kind: "format",
    body: {
      error: {
        message: "Failed to call a function. Please adjust your prompt. See 'failed_generation' for more details.",
        type: "invalid_request_error",
        code: "tool_use_failed",
        failed_generation: "Tool use failed: JSON does not match the expected schema for tool calls",
        status_code: 400,
      },
    },
    source: "https://github.com/anomalyco/opencode/issues/1018",
  },
]);

const OPENROUTER = of("OpenRouter", CHAT, [
  {
    status: 404,
    kind: "format",
    body: {
      error: {
        message:
          "No endpoints found that support tool use. To learn more about provider routing, visit: https://openrouter.ai/docs/provider-routing",
        code: 404,
      },
    },
    source: "https://github.com/lastmile-ai/mcp-agent/issues/237",
  },
  {
    status: 404,
    kind: "format",
    body: {
      error: {
        message:
          "No endpoints found that support the provided 'tool_choice' value. To learn more about provider routing, visit: https://openrouter.ai/docs/provider-routing",
        code: 404,
      },
    },
    source: "https://github.com/zed-industries/zed/issues/36094",
  },
  {
    status: 404,
    kind: "image_broken",
    body: { error: { message: "No endpoints found that support image input", code: 404 } },
    source: "https://github.com/github/app/issues/2163",
  },
  {
    status: 404,
    kind: "model_missing",
    body: { error: { message: "No endpoints found for nousresearch/hermes-3-llama-3.1-405b:free.", code: 404 } },
    source: "https://github.com/vyancharuk/nodejs-api-boilerplate/issues/16",
  },
  {
    status: 404,
    kind: "model_missing",
    body: {
      error: {
        message:
          "No endpoints available matching your guardrail restrictions and data policy. Configure: https://openrouter.ai/settings/privacy",
        code: 404,
      },
    },
    source: "https://github.com/truefoundry/models/pull/826",
  },
  {
    status: 429,
    kind: "rate_limit",
    body: {
      error: {
        message: "Rate limit exceeded: free-models-per-day. Add 10 credits to unlock 1000 free model requests per day",
        code: 429,
        metadata: { headers: { "X-RateLimit-Limit": "50", "X-RateLimit-Remaining": "0" } },
      },
    },
    source: "https://github.com/Gitlawb/openclaude/issues/936",
  },
  {
    status: 429,
    kind: "rate_limit",
    body: {
      error: {
        message: "Rate limit exceeded: free-models-per-day-high-balance.",
        type: "rate_limit_error",
        code: "429",
      },
    },
    source: "https://github.com/Gitlawb/openclaude/issues/1549",
  },
  {
    status: 401,
    kind: "auth",
    body: { error: { message: "No cookie auth credentials found", code: 401 } },
    source: "https://github.com/Gitlawb/openclaude/issues/967",
  },
  {
    status: 402,
    kind: "billing",
    body: {
      error: {
        message:
          "This request requires more credits, or fewer max_tokens. You requested up to 32000 tokens, but can only afford 0. To increase, visit https://openrouter.ai/settings/keys and create a key with a higher monthly limit",
        code: 402,
      },
    },
    source: "https://github.com/anomalyco/opencode/issues/12219",
  },
  {
    status: 402,
    kind: "billing",
    body: {
      error: {
        message:
          "This request requires more credits, or fewer max_tokens. You requested up to 64000 tokens, but can only afford 2666. To increase, visit https://openrouter.ai/settings/credits and upgrade to a paid account",
        code: 402,
        metadata: { provider_name: null },
      },
      user_id: "user_1",
    },
    source: "https://github.com/astrio-labs/forall/issues/76",
  },
  {
    status: 429,
    kind: "billing",
    body: {
      error: {
        message: "Error from provider: Provider returned error",
        code: 429,
        metadata: {
          raw: '{"error":{"message":"Your account o <k> is suspended due to insufficient balance, please recharge your account or check your plan and billing details","type":"exceeded_current_quota_error"}}',
          provider_name: "Moonshot AI",
          is_byok: true,
        },
      },
    },
    source: "https://github.com/anomalyco/opencode/issues/25458",
  },
]);

const TOGETHER = of("Together", CHAT, [
  {
    status: 429,
    kind: "rate_limit",
    body: openAi(
      "You have been rate limited. Your rate limit is 60 queries per minute. Please navigate to https://api.together.xyz/settings/billing to upgrade to a paid plan.",
      "credit_limit",
    ),
    source: "https://github.com/togethercomputer/MoA/issues/27",
  },
  {
    status: 402,
    kind: "billing",
    body: {
      id: "o3",
      ...openAi(
        "Credit limit exceeded. Please navigate to https://api.together.xyz/settings/billing to add credit or upgrade your plan.",
        "credit_limit",
      ),
    },
    source: "https://github.com/expectedparrot/edsl/issues/2098",
  },
  {
    status: 422,
    kind: "context_overflow",
    figures: { limitTokens: 2048, requestedTokens: 2049 },
    body: openAi(
      "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 2048. Given: 2019 `inputs` tokens and 30 `max_new_tokens`",
    ),
    source: "https://github.com/stanford-crfm/helm/pull/2079",
  },
  {
    status: 400,
    kind: "model_missing",
    body: openAi(
      "Unable to access non-serverless model MiniMaxAI/MiniMax-M2.5. Please visit https://api.together.ai/models/MiniMaxAI/MiniMax-M2.5 to create and start a new dedicated endpoint for the model.",
    ),
    source: "https://github.com/truefoundry/models/pull/919",
  },
]);

const FIREWORKS = [
  ...of("Fireworks", CHAT, [
    {
      status: 404,
      kind: "model_missing",
      body: {
        error: {
          message: "Model not found, inaccessible, and/or not deployed",
          param: "model",
          code: "NOT_FOUND",
          type: "error",
        },
      },
      source: "https://github.com/warpdotdev/warp/issues/15107",
    },
    {
      status: 404,
      kind: "model_missing",
      body: {
        error: {
          object: "error",
          type: "invalid_request_error",
          message: "model is missing conversation_config, please use /completions API instead",
        },
      },
      source: "https://github.com/BerriAI/litellm/issues/3465",
    },
  ]),
  ...of("Fireworks' Messages API", "anthropic-messages", [
    {
      status: 400,
      kind: "format",
      body: anthropic(
        "invalid_request_error",
        "JSON Schema not supported: could not understand the instance `{'required': ['criteria']}`.",
      ),
      source: "https://github.com/earendil-works/pi/issues/5352",
    },
  ]),
];

const CEREBRAS = of("Cerebras", CHAT, [
  {
    status: 400,
    kind: "context_overflow",
    figures: { limitTokens: 40_000, requestedTokens: 42_328 },
    body: {
      message: "Please reduce the length of the messages or completion. Current length is 42328 while limit is 40000",
      type: "invalid_request_error",
      param: "messages",
      code: "context_length_exceeded",
    },
    source: "https://github.com/cline/cline/issues/5140",
  },
  {
    status: 429,
    kind: "rate_limit",
    body: {
      message: "Requests per minute limit exceeded - too many requests sent.",
      type: "too_many_requests_error",
      param: "quota",
      code: "request_quota_exceeded",
    },
    source: "https://github.com/nminaya/grammar-nazi-bot/issues/958",
  },
  {
    status: 429,
    kind: "rate_limit",
    body: { message: "Tokens per minute limit exceeded - too many tokens processed." },
    source: "https://github.com/continuedev/continue/issues/9800",
  },
]);

const NVIDIA = of("NVIDIA NIM", CHAT, [
  {
    status: 404,
    kind: "model_missing",
    body: {
      status: 404,
      title: "Not Found",
      detail: "Function '23d4f03a-b8a6-4adb-a183-7daa083a09cc': Not found for account 'a'",
    },
    source: "https://github.com/Alishahryar1/free-claude-code/issues/1021",
  },
  {
    status: 403,
    kind: "auth",
    body: { status: 403, title: "Forbidden", detail: "Authorization failed" },
    source: "https://github.com/Alishahryar1/free-claude-code/issues/1242",
  },
]);

const HUGGING_FACE = of("Hugging Face", CHAT, [
  {
    status: 402,
    kind: "billing",
    body: {
      error:
        "You have exceeded your monthly included credits for Inference Providers. Subscribe to PRO to get 20x more monthly included credits.",
    },
    source: "https://github.com/huggingface/agents-course/issues/386",
  },
]);

/** AWS's client does not load under the condition that tests run with: these run in a process of their own. */
export const BEDROCK = of("Bedrock", "bedrock-converse-stream", [
  {
    status: 400,
    kind: "context_overflow",
    body: aws("ValidationException", "Input is too long for requested model."),
    source: "https://github.com/aws-samples/assessment-generator/issues/2",
  },
  {
    status: 429,
    kind: "rate_limit",
    body: aws("ThrottlingException", "Too many tokens, please wait before trying again."),
    source: "https://github.com/aws-samples/well-architected-iac-analyzer/issues/25",
  },
  {
    status: 403,
    kind: "model_missing",
    body: aws("AccessDeniedException", "You don't have access to the model with the specified model ID."),
    source: "https://github.com/langgenius/dify/issues/2829",
  },
  {
    status: 400,
    kind: "model_missing",
    body: aws(
      "ValidationException",
      "Invocation of model ID anthropic.claude-3-7-sonnet-20250219-v1:0 with on-demand throughput isn’t supported. Retry your request with the ID or ARN of an inference profile that contains this model.",
    ),
    source: "https://github.com/strands-agents/harness-sdk/issues/38",
  },
  {
    status: 400,
    kind: "model_missing",
    body: aws("ValidationException", "The provided model identifier is invalid."),
    source: "https://github.com/strands-agents/harness-sdk/issues/38",
  },
  {
    status: 400,
    kind: "output_limit",
    figures: { maxOutputTokens: 2048 },
    body: aws(
      "ValidationException",
      "The maximum tokens you requested exceeds the model limit of 2048. Try again with a maximum tokens value that is lower than 2048.",
    ),
    source: "https://github.com/aws-samples/bedrock-access-gateway/issues/41",
  },
  {
    status: 400,
    kind: "context_overflow",
    figures: { limitTokens: 204_698, requestedTokens: 260_395 },
    body: aws(
      "ValidationException",
      "The model returned the following errors: input length and `max_tokens` exceed context limit: 196395 + 64000 > 204698, decrease input length or `max_tokens` and try again",
    ),
    source: "https://github.com/RooCodeInc/Roo-Code/issues/3713",
  },
  {
    status: 400,
    kind: "auth",
    body: aws(
      "ValidationException",
      "Access to Anthropic models is not allowed from unsupported countries, regions, or territories. Please refer to https://www.anthropic.com/supported-countries for more information on the countries and regions Anthropic currently supports.",
    ),
    source: "https://github.com/aws-samples/generative-bi-using-rag/issues/361",
  },
  {
    status: 400,
    kind: "context_overflow",
    body: aws(
      "ValidationException",
      "Malformed input request: expected maxLength: 42000, actual: 46735, please reformat your input and try again.",
    ),
    source: "https://github.com/ryanadoty/Amazon-Bedrock-Amazon-RDS-POC/issues/9",
  },
]);

const BEDROCK_MESSAGES = of("Bedrock's Messages API", "anthropic-messages", [
  {
    status: 400,
    kind: "output_limit",
    figures: { maxOutputTokens: 32_768 },
    body: { message: "The maximum tokens you requested exceeds the model limit of 32768" },
    source: "https://github.com/charmbracelet/crush/issues/946",
  },
]);

const LITELLM = of("LiteLLM", CHAT, [
  {
    status: 400,
    kind: "billing",
    body: openAi(
      "litellm.BadRequestError: OpenAIException - Budget has been exceeded! Current cost: 114.5, Max budget: 100. Received Model Group=meta.llama3-8b-instruct-v1:0\nAvailable Model Group Fallbacks=None",
      "None",
      "400",
    ),
    source: "https://github.com/BerriAI/litellm/issues/14144",
  },
  {
    status: 429,
    kind: "billing",
    body: openAi("LiteLLM User: engineer-1, exceeded budget for model=claude-opus-4-8", "budget_exceeded", "429"),
    source: "https://github.com/OWASP/OpenCRE/pull/1102",
  },
  {
    status: 429,
    kind: "billing",
    body: openAi(
      "No deployments available - crossed budget: Exceeded budget for deployment model_name: m, litellm_params.model: m, model_id: m: 0.36300000000000004 >= 1d",
    ),
    source: "https://github.com/BerriAI/litellm/issues/14144",
  },
  {
    status: 400,
    kind: "model_missing",
    body: {
      error: {
        message: "400: {'error': 'Invalid model name passed in model=Lite-GPT-12'}",
        type: "None",
        param: "None",
        code: 400,
      },
    },
    source: "https://github.com/BerriAI/litellm/pull/3142",
  },
  {
    status: 429,
    kind: "rate_limit",
    body: openAi(
      "litellm.RateLimitError: AzureException RateLimitError - Error code: 429 - {'error': {'code': '429', 'message': 'Requests to the ChatCompletions_Create Operation under Azure OpenAI API version 2023-05-15 have exceeded token rate limit of your current AIServices S0 pricing tier. Please retry after 86400 seconds. Please contact Azure support service if you would like to further increase the default rate limit.'}}\nReceived Model Group=azure-gpt-4o-mini\nAvailable Model Group Fallbacks=None",
      "throttling_error",
      "429",
    ),
    source: "https://github.com/jasonacox/TinyLLM/issues/17",
  },
  {
    status: 400,
    kind: "call_ordering",
    body: {
      detail:
        "litellm.BadRequestError: OpenAIException - An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: call_sVabMby3Tu1c9c8PSt4XFLDS",
    },
    source: "https://github.com/minoism/freecc/issues/2",
  },
]);

const GATEWAYS = of("a gateway", CHAT, [
  {
    status: 403,
    kind: "model_missing",
    body: {
      status: "failure",
      message: "User u is not authorized to access model test-v2-openrouter/x-ai-grok-4-fast or model does not exist",
      error: {
        message: "User u is not authorized to access model test-v2-openrouter/x-ai-grok-4-fast or model does not exist",
        type: "AuthorizationError",
      },
    },
    source: "https://github.com/truefoundry/models/pull/949",
  },
  {
    status: 404,
    kind: "model_missing",
    body: openAi("Requested entity was not found.", "invalid_request_error", "invalid_request_error"),
    source: "https://github.com/justlovemaki/AIClient2API/issues/647",
  },
  {
    status: 413,
    kind: "request_size",
    body: "413 Request Entity Too Large\n",
    source: "https://github.com/github/copilot-cli/issues/1032",
  },
  {
    status: 413,
    kind: "request_size",
    body: openAi("JSON payload (3401783 bytes) is larger than allowed (limit: 2097152 bytes)."),
    source: "https://github.com/openakita/openakita/issues/226",
  },
  {
    status: 400,
    kind: "format",
    body: {
      error: {
        message:
          "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
        code: "invalid_request_body",
      },
    },
    source: "https://github.com/caozhiyuan/copilot-api/issues/172",
  },
  {
    status: 429,
    kind: "billing",
    body: {
      error: {
        message: "Insufficient balance or no resource package. Please recharge.",
        type: "AI_APICallError",
        param: { statusCode: 429, isRetryable: true },
      },
    },
    source: "https://github.com/vercel/ai/issues/9290",
  },
]);

/** Companies that serve the models of others, and gateways in front of them. */
export const HOSTS: readonly RefusalCase[] = [
  ...GROQ,
  ...OPENROUTER,
  ...TOGETHER,
  ...FIREWORKS,
  ...CEREBRAS,
  ...NVIDIA,
  ...HUGGING_FACE,
  ...BEDROCK_MESSAGES,
  ...LITELLM,
  ...GATEWAYS,
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
    kind: "billing",
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
    ...chat,
    provider: "Hugging Face",
    status: 503,
    body: { error: "Model Qwen/Qwen2-VL-2B-Instruct is currently loading", estimated_time: 176.7 },
    kind: "loading",
    source: "https://github.com/huggingface/huggingface_hub/issues/2763",
  },
];
