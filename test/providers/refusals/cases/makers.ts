import { anthropic, CHAT, chat, google, of, openAi, type RefusalCase } from "../shapes.ts";

const OPENAI = of("OpenAI", CHAT, [
  {
    status: 429,
    kind: "billing",
    body: openAi(
      "You exceeded your current quota, please check your plan and billing details. For more information on this error, read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors.",
      "insufficient_quota",
      "insufficient_quota",
    ),
    source: "https://github.com/ChatGPTNextWeb/NextChat/issues/3664",
  },
  {
    status: 429,
    kind: "billing",
    body: openAi("You exceeded your current quota, please check your plan and billing details.", "insufficient_quota"),
    source: "https://github.com/ayaka14732/ChatGPTAPIFree/issues/16",
  },
  {
    status: 401,
    kind: "auth",
    body: openAi(
      "Incorrect API key provided: sk-VKMIs***wjh3. You can find your API key at https://platform.openai.com/account/api-keys.",
      "invalid_request_error",
      "invalid_api_key",
    ),
    source: "https://github.com/chatanywhere/GPT_API_free/issues/62",
  },
  {
    status: 401,
    kind: "auth",
    body: openAi(
      "Incorrect API key provided: https://********lETQ. You can find your API key at https://platform.openai.com/account/api-keys.",
      "invalid_request_error",
      "invalid_api_key",
    ),
    source: "https://github.com/continuedev/continue/issues/10250",
  },
  {
    status: 400,
    kind: "format",
    body: openAi(
      "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
      "invalid_request_error",
      "unsupported_parameter",
    ),
    source: "https://github.com/sipeed/picoclaw/issues/16",
  },
  {
    status: 400,
    kind: "format",
    body: openAi(
      "Unsupported parameter: 'temperature' is not supported with this model.",
      "invalid_request_error",
      "unsupported_parameter",
    ),
    source: "https://github.com/appatalks/eva-agent/issues/83",
  },
  {
    status: 403,
    kind: "auth",
    body: openAi(
      "Country, region, or territory not supported",
      "request_forbidden",
      "unsupported_country_region_territory",
    ),
    source: "https://github.com/home-assistant/core/issues/120072",
  },
  {
    status: 400,
    kind: "model_missing",
    body: openAi(
      "Your organization must be verified to stream this model. Please go to: https://platform.openai.com/settings/organization/general and click on Verify Organization. If you just verified, it can take up to 15 minutes for access to propagate.",
    ),
    source: "https://github.com/continuedev/continue/issues/8209",
  },
  {
    status: 400,
    kind: "call_ordering",
    body: {
      error: {
        message:
          "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: call_i8vT76kQ8XOpe9ErYaTYRRxV",
        type: "invalid_request_error",
        param: "messages.[14].role",
        code: null,
      },
    },
    source: "https://github.com/RamiAwar/dataline/issues/172",
  },
  {
    status: 400,
    kind: "image_broken",
    body: openAi(
      "You uploaded an unsupported image. Please make sure your image has of one the following formats: ['png', 'jpeg', 'gif', 'webp'].",
      "invalid_request_error",
      "invalid_image_format",
    ),
    source: "https://github.com/STranslate/STranslate/issues/277",
  },
  {
    status: 400,
    kind: "image_broken",
    body: openAi(
      "You uploaded an unsupported image. Please make sure your image is below 20 MB in size and is of one the following formats: ['png', 'jpeg', 'gif', 'webp'].",
      "invalid_request_error",
      "sanitizer_server_error",
    ),
    source: "https://github.com/CosmosShadow/gptpdf/issues/6",
  },
  {
    status: 400,
    kind: "image_broken",
    body: openAi("Invalid content type. image_url is only supported by certain models."),
    source: "https://github.com/nextcloud/integration_openai/issues/282",
  },
  {
    status: 400,
    kind: "context_overflow",
    figures: { limitTokens: 8192, requestedTokens: 8227 },
    body: openAi(
      "This model's maximum context length is 8192 tokens. However, your messages resulted in 8227 tokens. Please reduce the length of the messages.",
      "invalid_request_error",
      "context_length_exceeded",
    ),
    source: "https://github.com/crewAIInc/crewAI-examples/issues/121",
  },
  {
    status: 400,
    kind: "output_limit",
    figures: { limitTokens: 4097, requestedTokens: 4120, maxOutputTokens: 977 },
    body: openAi(
      "This model's maximum context length is 4097 tokens. However, you requested 4120 tokens (3120 in the messages, 1000 in the completion). Please reduce the length of the messages or completion.",
      "invalid_request_error",
      "context_length_exceeded",
    ),
    source: "https://github.com/mckaywrigley/chatbot-ui/issues/102",
  },
  {
    status: 404,
    kind: "model_missing",
    body: openAi("That model does not exist"),
    source: "https://github.com/waylaidwanderer/node-chatgpt-api/issues/49",
  },
]);

const OPENAI_RESPONSES = of("OpenAI's Responses API", "openai-responses", [
  {
    status: 400,
    kind: "call_ordering",
    body: openAi("No tool call found for function call output with call_id call_nOWDnpBmdz4KqHWu8nM0q90k."),
    source: "https://github.com/router-for-me/CLIProxyAPI/issues/2016",
  },
]);

const AZURE = of("Azure OpenAI", CHAT, [
  {
    status: 400,
    kind: "refusal",
    body: {
      error: {
        message:
          "The response was filtered due to the prompt triggering Azure OpenAI’s content management policy. Please modify your prompt and retry. To learn more about our content filtering policies please read our documentation: https://go.microsoft.com/fwlink/?linkid=2198766",
        type: null,
        param: "prompt",
        code: "content_filter",
        status: 400,
      },
    },
    source: "https://github.com/openai/openai-python/issues/331",
  },
  {
    status: 400,
    kind: "refusal",
    body: {
      error: {
        message:
          "The response was filtered due to the prompt triggering Azure OpenAI's content management policy. Please modify your prompt and retry.",
        type: null,
        param: "prompt",
        code: "content_filter",
        status: 400,
        innererror: {
          code: "ResponsibleAIPolicyViolation",
          content_filter_result: { violence: { filtered: true, severity: "medium" } },
        },
      },
    },
    source: "https://github.com/compl-ai/compl-ai/issues/20",
  },
  {
    status: 401,
    kind: "auth",
    body: {
      error: {
        code: "401",
        message:
          "Access denied due to invalid subscription key or wrong API endpoint. Make sure to provide a valid key for an active subscription and use a correct regional API endpoint for your resource.",
      },
    },
    source: "https://github.com/SciSharp/BotSharp/issues/386",
  },
  {
    status: 429,
    kind: "rate_limit",
    body: {
      error: {
        code: "429",
        message:
          "Requests to the ChatCompletions_Create Operation under Azure OpenAI API version 2023-05-15 have exceeded token rate limit of your current AIServices S0 pricing tier. Please retry after 86400 seconds. Please contact Azure support service if you would like to further increase the default rate limit.",
      },
    },
    source: "https://github.com/jasonacox/TinyLLM/issues/17",
  },
  {
    status: 429,
    kind: "rate_limit",
    body: {
      error: {
        code: 429,
        message:
          "The event daily request rate of 2000 calls to has been exceeded. Requests are disabled until UTC midnight.",
      },
    },
    source: "https://github.com/microsoft/Hack-Together-Fabric-AI/issues/9",
  },
  {
    status: 400,
    kind: "format",
    body: {
      error: {
        message:
          "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
        type: "invalid_request_error",
        param: "max_tokens",
        code: "unsupported_parameter",
      },
    },
    source: "https://github.com/owndev/Open-WebUI-Functions/issues/136",
  },
]);

const ANTHROPIC = of("Anthropic", "anthropic-messages", [
  {
    status: 400,
    kind: "billing",
    body: anthropic(
      "invalid_request_error",
      "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.",
    ),
    source: "https://github.com/anthropics/claude-code/issues/66297",
  },
  {
    status: 400,
    kind: "image_size",
    body: anthropic(
      "invalid_request_error",
      "messages.7.content.2.image.source.base64.data: At least one of the image dimensions exceed max allowed size: 8000 pixels",
    ),
    source: "https://github.com/anthropics/claude-code/issues/4778",
  },
  {
    status: 400,
    kind: "image_size",
    body: anthropic(
      "invalid_request_error",
      "messages.109.content.2.image.source.base64.data: At least one of the image dimensions exceed max allowed size for many-image requests: 2000 pixels",
    ),
    source: "https://github.com/anthropics/claude-code/issues/9375",
  },
  {
    status: 400,
    kind: "image_size",
    body: anthropic(
      "invalid_request_error",
      "messages.2.content.0.image.source.base64: image exceeds 5 MB maximum: 8259148 bytes > 5242880 bytes",
    ),
    source: "https://github.com/anthropics/claude-code/issues/19631",
  },
  {
    status: 400,
    kind: "role_ordering",
    body: anthropic(
      "invalid_request_error",
      'messages: roles must alternate between "user" and "assistant", but found multiple "user" roles in a row',
    ),
    source: "https://github.com/mattermost/mattermost-plugin-agents/issues/180",
  },
  {
    status: 400,
    kind: "role_ordering",
    body: anthropic("invalid_request_error", 'messages: first message must use the "user" role'),
    source: "https://github.com/lobehub/lobehub/issues/1601",
  },
  {
    status: 400,
    kind: "role_ordering",
    body: anthropic(
      "invalid_request_error",
      "messages.67: role 'system' must precede an 'assistant' message or end the array",
    ),
    source: "https://github.com/anthropics/claude-code/issues/73821",
  },
  {
    status: 529,
    kind: "overloaded",
    body: anthropic("overloaded_error", "Overloaded"),
    source: "https://github.com/cline/cline/issues/53",
  },
  {
    status: 413,
    kind: "request_size",
    body: { error: { type: "request_too_large", message: "Request exceeds the maximum size" } },
    source: "https://github.com/anthropics/claude-code/issues/3335",
  },
  {
    status: 401,
    kind: "auth",
    body: anthropic("authentication_error", "invalid x-api-key"),
    source: "https://github.com/continuedev/continue/issues/9595",
  },
  {
    status: 429,
    kind: "rate_limit",
    body: anthropic(
      "rate_limit_error",
      "This request would exceed the rate limit for your organization (o) of 20,000 input tokens per minute. For details, refer to: https://docs.anthropic.com/en/api/rate-limits. You can see the response headers for current usage. Please reduce the prompt length or the maximum tokens requested, or try again later. You may also contact sales at https://www.anthropic.com/contact-sales to discuss your options for a rate limit increase.",
    ),
    source: "https://github.com/OpenHands/OpenHands/issues/9259",
  },
  {
    status: 400,
    kind: "context_overflow",
    figures: { limitTokens: 200_000, requestedTokens: 220_314 },
    body: anthropic(
      "invalid_request_error",
      "input length and max_tokens exceed context limit: 198981 + 21333 > 200000, decrease input length or max_tokens and try again",
    ),
    source: "https://github.com/anymorph-ai/Claudable/issues/3",
  },
  {
    status: 400,
    kind: "output_limit",
    figures: { limitTokens: 200_000, requestedTokens: 238_167, maxOutputTokens: 25_833 },
    body: anthropic(
      "invalid_request_error",
      "input length and `max_tokens` exceed context limit: 174167 + 64000 > 200000, decrease input length or `max_tokens` and try again",
    ),
    source: "https://github.com/kortix-ai/suna/issues/172",
  },
  {
    status: 400,
    kind: "output_limit",
    figures: { maxOutputTokens: 32_000 },
    body: anthropic(
      "invalid_request_error",
      "max_tokens: 48000 > 32000, which is the maximum allowed number of output tokens for claude-opus-4-1-20250805",
    ),
    source: "https://github.com/anomalyco/opencode/issues/2055",
  },
  {
    status: 400,
    kind: "thinking_unsupported",
    body: anthropic(
      "invalid_request_error",
      "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024",
    ),
    source: "https://github.com/themaximalist/llm.js/issues/30",
  },
  {
    status: 413,
    kind: "request_size",
    body: "<html>\n<head><title>413 Request Entity Too Large</title></head>\n<body>\n<center><h1>413 Request Entity Too Large</h1></center>\n<hr><center>nginx/1.26.0 (Ubuntu)</center>\n</body>\n</html>",
    source: "https://github.com/Wei-Shaw/claude-relay-service/issues/630",
  },
]);

const ANTHROPIC_LIKE = [
  ...of("MiniMax", "anthropic-messages", [
    {
      status: 429,
      kind: "rate_limit",
      body: anthropic(
        "rate_limit_error",
        "usage limit exceeded, 5-hour usage limit reached for Token Plan Starter (0/0 used), resets at 2026-05-15T15:00:00Z (2056)",
      ),
      source: "https://github.com/MiniMax-AI/MiniMax-M2.7/issues/36",
    },
  ]),
  ...of("z.ai", "anthropic-messages", [
    {
      status: 429,
      kind: "billing",
      body: anthropic("1113", "Insufficient balance or no resource package. Please recharge."),
      source: "https://github.com/anthropics/claude-code/issues/9201",
    },
    {
      status: 429,
      kind: "billing",
      body: {
        type: "error",
        error: {
          type: "rate_limit_error",
          code: "1113",
          message: "[1113][Insufficient balance or no resource package. Please recharge.][1]",
        },
      },
      source: "https://github.com/zai-org/feedback/issues/789",
    },
  ]),
];

const INVALID_KEY = [
  {
    "@type": "type.googleapis.com/google.rpc.ErrorInfo",
    reason: "API_KEY_INVALID",
    domain: "googleapis.com",
    metadata: { service: "generativelanguage.googleapis.com" },
  },
];

const GOOGLE = of("Google", "google-generative-ai", [
  {
    status: 400,
    kind: "auth",
    body: google(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.", INVALID_KEY),
    source: "https://github.com/cequence-io/openai-scala-client/issues/109",
  },
  {
    status: 400,
    kind: "auth",
    body: google(400, "INVALID_ARGUMENT", "API Key not found. Please pass a valid API key.", INVALID_KEY),
    source: "https://github.com/google-gemini/gemini-cli/issues/25198",
  },
  {
    status: 429,
    kind: "rate_limit",
    body: google(
      429,
      "RESOURCE_EXHAUSTED",
      "You exceeded your current quota, please check your plan and billing details. For more information on this error, head to: https://ai.google.dev/gemini-api/docs/rate-limits. To monitor your current usage, head to: https://ai.dev/rate-limit. \n* Quota exceeded for metric: generativelanguage.googleapis.com/generate_content_free_tier_input_token_count, limit: 0, model: gemini-2.5-pro\nPlease retry in 20.04466179s.",
    ),
    source: "https://github.com/continuedev/continue/issues/10062",
  },
  {
    status: 429,
    kind: "rate_limit",
    body: google(
      429,
      "RESOURCE_EXHAUSTED",
      "You exceeded your current quota, please check your plan and billing details. For more information on this error, head to: https://ai.google.dev/gemini-api/docs/rate-limits.",
      [
        {
          "@type": "type.googleapis.com/google.rpc.QuotaFailure",
          violations: [
            {
              quotaMetric: "generativelanguage.googleapis.com/generate_content_free_tier_requests",
              quotaId: "GenerateRequestsPerDayPerProjectPerModel-FreeTier",
            },
          ],
        },
      ],
    ),
    source: "https://github.com/google-gemini/gemini-cli/issues/8437",
  },
  {
    status: 429,
    kind: "rate_limit",
    body: google(429, "RESOURCE_EXHAUSTED", "Resource has been exhausted (e.g. check quota)."),
    source: "https://github.com/google-gemini/gemini-cli/issues/14811",
  },
  {
    status: 429,
    kind: "rate_limit",
    body: [
      {
        error: {
          code: 429,
          message:
            "Resource exhausted. Please try again later. Please refer to https://cloud.google.com/vertex-ai/generative-ai/docs/error-code-429 for more details.",
          errors: [{ message: "Resource exhausted.", domain: "global", reason: "rateLimitExceeded" }],
          status: "RESOURCE_EXHAUSTED",
        },
      },
    ],
    source: "https://github.com/google-gemini/gemini-cli/issues/14831",
  },
  {
    status: 429,
    kind: "rate_limit",
    body: google(429, "RESOURCE_EXHAUSTED", "No capacity available for model gemini-3-flash-preview on the server", [
      { "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "MODEL_CAPACITY_EXHAUSTED" },
    ]),
    source: "https://github.com/decolua/9router/issues/1106",
  },
  {
    status: 503,
    kind: "overloaded",
    body: google(503, "UNAVAILABLE", "The model is overloaded. Please try again later."),
    source: "https://github.com/appatalks/eva-agent/issues/50",
  },
  {
    status: 503,
    kind: "overloaded",
    body: google(
      503,
      "UNAVAILABLE",
      "This model is currently experiencing high demand. Spikes in demand are usually temporary. Please try again later.",
    ),
    source: "https://github.com/continuedev/continue/issues/10639",
  },
  {
    status: 404,
    kind: "model_missing",
    body: google(
      404,
      "NOT_FOUND",
      "models/gemini-pro is not found for API version v1beta, or is not supported for generateContent. Call ListModels to see the list of available models and their supported methods.",
    ),
    source: "https://github.com/wwardaww/gnome-gemini-ai/issues/22",
  },
  {
    status: 400,
    kind: "context_overflow",
    body: google(
      400,
      "INVALID_ARGUMENT",
      "The input token count exceeds the maximum number of tokens allowed (1048576).",
    ),
    source: "https://github.com/arkavo-org/arkavo-edge/issues/371",
  },
  {
    status: 400,
    kind: "context_overflow",
    figures: { limitTokens: 1_048_576, requestedTokens: 1_200_293 },
    body: [
      google(
        400,
        "INVALID_ARGUMENT",
        "The input token count (1200293) exceeds the maximum number of tokens allowed (1048576).",
      ),
    ],
    source: "https://github.com/google-gemini/gemini-cli/issues/6678",
  },
  {
    status: 400,
    kind: "thinking_unsupported",
    body: google(
      400,
      "INVALID_ARGUMENT",
      '{"type":"error","error":{"type":"invalid_request_error","message":"`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking#max-tokens-and-context-window-size"},"request_id":"req_vrtx_1"}',
    ),
    source: "https://github.com/liuw1535/antigravity2api-nodejs/issues/150",
  },
]);

const XAI = of("xAI", CHAT, [
  {
    status: 400,
    kind: "auth",
    body: {
      code: "Client specified an invalid argument",
      error: "Incorrect API key provided: gs***tF. You can obtain an API key from https://console.x.ai.",
    },
    source: "https://github.com/continuedev/continue/issues/10161",
  },
]);

const DEEPSEEK = of("DeepSeek", CHAT, [
  {
    status: 402,
    kind: "billing",
    body: openAi("Insufficient Balance", "unknown_error", "invalid_request_error"),
    source: "https://github.com/1Panel-dev/MaxKB/issues/3797",
  },
  {
    status: 400,
    kind: "context_overflow",
    figures: { limitTokens: 131_072, requestedTokens: 131_134 },
    body: openAi(
      "This model's maximum context length is 131072 tokens. However, you requested 131134 tokens (122942 in the messages, 8192 in the completion). Please reduce the length of the messages or completion.",
      "invalid_request_error",
      "invalid_request_error",
    ),
    source: "https://github.com/evalstate/fast-agent/issues/621",
  },
  {
    status: 400,
    kind: "call_ordering",
    body: openAi(
      "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. (insufficient tool messages following tool_calls message)",
    ),
    source: "https://github.com/smallmain/vscode-unify-chat-provider/issues/248",
  },
]);

export const MISTRAL = of("Mistral", CHAT, [
  {
    status: 401,
    kind: "auth",
    body: { detail: "Unauthorized" },
    source: "https://github.com/agent0ai/agent-zero/issues/539",
  },
  {
    status: 429,
    kind: "rate_limit",
    body: {
      object: "error",
      message: "Rate limit exceeded",
      type: "rate_limited",
      param: null,
      code: "1300",
      raw_status_code: 429,
    },
    source: "https://github.com/raycast/extensions/issues/31107",
  },
  {
    // That it comes with 503: https://github.com/BerriAI/litellm/pull/25078
    status: 503,
    kind: "overloaded",
    body: {
      object: "error",
      message: "Service tier capacity exceeded for this model.",
      type: "invalid_request_error",
      param: null,
      code: null,
    },
    source: "https://github.com/continuedev/continue/issues/6185",
  },
]);

const COHERE = of("Cohere", CHAT, [
  {
    status: 401,
    kind: "auth",
    body: { message: "invalid api token" },
    source: "https://github.com/cohere-ai/cohere-toolkit/issues/857",
  },
  {
    status: 404,
    kind: "model_missing",
    body: {
      message:
        "model 'xlarge' not found, make sure the correct model ID was used and that you have access to the model.",
    },
    source: "https://github.com/MaartenGr/BERTopic/issues/1864",
  },
  {
    status: 400,
    kind: "context_overflow",
    figures: { limitTokens: 2048, requestedTokens: 6354 },
    body: {
      message:
        "too many tokens: total number of tokens (prompt and prediction) cannot exceed 2048 - received 6354. Try using a shorter prompt or a smaller max_tokens value.",
    },
    source: "https://github.com/cohere-ai/sandbox-topically/issues/4",
  },
]);

const PERPLEXITY = of("Perplexity", CHAT, [
  {
    status: 400,
    kind: "role_ordering",
    body: {
      error: {
        message: "After the (optional) system message(s), user and assistant roles should be alternating.",
        type: "invalid_message",
        code: 400,
      },
    },
    source: "https://github.com/perplexityai/api-discussion/issues/265",
  },
  {
    status: 400,
    kind: "model_missing",
    body: {
      error: {
        message:
          "Invalid model 'sonar-pro-online'. Permitted models can be found in the documentation at https://docs.perplexity.ai/guides/model-cards.",
        type: "invalid_model",
        code: 400,
      },
    },
    source: "https://github.com/hex/llm-perplexity/issues/19",
  },
]);

const QWEN = of("Qwen (DashScope)", CHAT, [
  {
    status: 400,
    kind: "context_overflow",
    figures: { limitTokens: 983_616 },
    body: {
      error: {
        code: "invalid_parameter_error",
        message: "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 983616]",
        param: null,
        type: "invalid_request_error",
      },
      request_id: "r",
    },
    source: "https://github.com/agentscope-ai/QwenPaw/issues/6255",
  },
  {
    status: 400,
    kind: "context_overflow",
    figures: { limitTokens: 6000 },
    body: { code: "InvalidParameter", message: "Range of input length should be [1, 6000]", request_id: "r" },
    source: "https://github.com/LLM-Red-Team/qwen-free-api/issues/23",
  },
  {
    status: 400,
    kind: "refusal",
    body: {
      error: {
        code: "data_inspection_failed",
        param: null,
        message: "Input data may contain inappropriate content.",
        type: "data_inspection_failed",
      },
      id: "chatcmpl-1",
      request_id: "r",
    },
    source: "https://github.com/camel-ai/owl/issues/432",
  },
  {
    status: 400,
    kind: "refusal",
    body: {
      status_code: 400,
      request_id: "r",
      code: "DataInspectionFailed",
      message: "Input data may contain inappropriate content.",
    },
    source: "https://github.com/QwenLM/Qwen/issues/938",
  },
  {
    status: 400,
    kind: "refusal",
    body: openAi("<400> InternalError.Algo.DataInspectionFailed: Input text data may contain inappropriate content."),
    source: "https://github.com/QwenLM/qwen-code/issues/3145",
  },
  {
    status: 400,
    kind: "refusal",
    body: openAi(
      "Input data may contain inappropriate content. For details, see: https://help.aliyun.com/zh/model-studio/error-code#inappropriate-content",
      "data_inspection_failed",
      "data_inspection_failed",
    ),
    source: "https://github.com/666ghj/BettaFish/issues/449",
  },
  {
    status: 400,
    kind: "call_ordering",
    body: openAi(
      '<400> InternalError.Algo.InvalidParameter: An assistant message with "tool_calls" must be followed by tool messages responding to each "tool_call_id". The following tool_call_ids did not have response messages: message[532].role',
    ),
    source: "https://github.com/QwenLM/qwen-code/issues/606",
  },
]);

const OTHERS = [
  ...of("Moonshot", CHAT, [
    {
      status: 429,
      kind: "billing",
      body: {
        error: {
          message:
            "Your account o <k> is suspended due to insufficient balance, please recharge your account or check your plan and billing details",
          type: "exceeded_current_quota_error",
        },
      },
      source: "https://github.com/666ghj/BettaFish/issues/524",
    },
  ]),
  ...of("Zhipu", CHAT, [
    {
      status: 429,
      kind: "billing",
      body: { error: { code: "1113", message: "余额不足或无可用资源包,请充值。" } },
      source: "https://github.com/continuedev/continue/issues/11823",
    },
  ]),
];

/** Companies that make the models that they serve. */
export const MAKERS: readonly RefusalCase[] = [
  ...OPENAI,
  ...OPENAI_RESPONSES,
  ...AZURE,
  ...ANTHROPIC,
  ...ANTHROPIC_LIKE,
  ...GOOGLE,
  ...XAI,
  ...DEEPSEEK,
  ...MISTRAL,
  ...COHERE,
  ...PERPLEXITY,
  ...QWEN,
  ...OTHERS,
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
    source: "https://github.com/badlogic/pi-mono/blob/main/packages/ai/src/utils/overflow.ts",
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
];
