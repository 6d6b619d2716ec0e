import { getOverflowPatterns } from "@mariozechner/pi-ai";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { classifyFailure, parseImageSize } from "../../src/providers/failure.ts";
import { readRefusal } from "../../src/providers/failure/body.ts";
import { FAILURE_KINDS, type FailureKind } from "../../src/types/run/run.ts";
import { Secret } from "../../src/types/secret.ts";
import { defined } from "../../src/utils/defined.ts";
import { processorTime } from "../kit/processor-time.ts";

/** The kinds that no provider tells of: the gateway finds them itself. */
type Ours = "blocked" | "budget" | "compaction_failure" | "engine" | "tool_loop";

/** What providers really send, as the SDK hands it on. */
const TEXTS: Readonly<Record<Exclude<FailureKind, Ours>, readonly (readonly [provider: string, text: string])[]>> = {
  auth: [
    ["Anthropic", '401 {"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}'],
    [
      "OpenAI",
      "401 Incorrect API key provided: sk-abc***def. You can find your API key at https://platform.openai.com/account/api-keys.",
    ],
    ["Google", "400 API key not valid. Please pass a valid API key."],
    ["Google", '403 {"error":{"code":403,"status":"PERMISSION_DENIED","message":"Permission denied"}}'],
    [
      "Anthropic",
      '403 {"type":"error","error":{"type":"permission_error","message":"OAuth authentication is currently not allowed for this organization."}}',
    ],
    ["Anthropic", '400 {"error":{"message":"This organization has been disabled."}}'],
    ["Codex", "Your authentication token has been invalidated. Please try signing in again."],
    ["Bedrock", "ExpiredTokenException: The security token included in the request is expired"],
    ["Bedrock", "Could not load credentials from any providers"],
    ["the SDK", "No API key for provider: groq"],
    ["OpenRouter", '401 {"error":{"message":"User not found.","code":401}}'],
  ],
  billing: [
    [
      "Anthropic",
      '400 {"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits."}}',
    ],
    [
      "OpenAI",
      "429 You exceeded your current quota, please check your plan and billing details. For more information on this error, read the docs.",
    ],
    ["OpenAI", '429 {"error":{"code":"insufficient_quota","message":"You have run out of it."}}'],
    ["OpenRouter", "402 Insufficient credits. Add more using https://openrouter.ai/settings/credits"],
    ["OpenRouter", "402 This request requires more credits, or fewer max_tokens. You requested up to 64000 tokens."],
    ["DeepSeek", "402 Insufficient Balance"],
    ["any", "402 status code (no body)"],
  ],
  rate_limit: [
    [
      "Anthropic",
      '429 {"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed your rate limit."}}',
    ],
    [
      "OpenAI",
      "429 Rate limit reached for gpt-5.1 in organization org-x on tokens per min (TPM): Limit 30000. Please try again in 1.2s.",
    ],
    [
      "Google",
      "429 You exceeded your current quota, please check your plan and billing details. * Quota exceeded for metric: generate_content_free_tier_requests, limit: 20\nPlease retry in 34.07s.",
    ],
    [
      "Google",
      '{"error":{"code":429,"message":"Resource has been exhausted (e.g. check quota).","status":"RESOURCE_EXHAUSTED"}}',
    ],
    ["Codex", "You have hit your ChatGPT usage limit (plus plan). Try again in ~45 min."],
    ["OpenRouter", "429 Provider returned error\nqwen/qwen3:free is temporarily rate-limited upstream."],
    ["any", "429 status code (no body)"],
    ["Bedrock", "ThrottlingException: Too many requests, please wait before trying again."],
    ["Bedrock", "Throttling error: Too many tokens, please wait before trying again."],
    ["Mistral", 'Mistral API error (429): {"message":"Requests rate limit exceeded"}'],
    ["Mistral", 'Mistral API error (429): {"message":"Service tier capacity exceeded for this model."}'],
  ],
  overloaded: [
    ["Anthropic", '529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}'],
    ["Anthropic", '{"type":"error","error":{"details":null,"type":"overloaded_error","message":"Overloaded"}}'],
    [
      "Google",
      '503 {"error":{"code":503,"message":"The model is overloaded. Please try again later.","status":"UNAVAILABLE"}}',
    ],
    ["OpenAI", "Error Code server_is_overloaded: Our servers are currently overloaded. Please try again later."],
    ["Groq", "503 qwen is currently over capacity. Please try again and back off exponentially."],
    ["Bedrock", "Service unavailable: Bedrock is unable to process your request."],
    ["any", "529 status code (no body)"],
  ],
  loading: [["llama.cpp", '503 {"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}']],
  output_limit: [
    ["OpenAI", "400 Invalid 'max_tokens': integer above maximum value."],
    ["OpenAI", "400 max_tokens is too large: 8192. This model supports at most 4096 completion tokens."],
  ],
  context_overflow: [
    [
      "OpenAI",
      "429 Request too large for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, Requested 32000. The input or output tokens must be reduced in order to run successfully.",
    ],
    [
      "Anthropic",
      '400 {"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 213462 tokens > 200000 maximum"}}',
    ],
    [
      "Anthropic",
      '400 {"error":{"message":"input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length or `max_tokens` and try again"}}',
    ],
    ["Anthropic", "Unhandled stop reason: model_context_window_exceeded"],
    ["OpenAI", "400 Your input exceeds the context window of this model. Please adjust your input and try again."],
    [
      "OpenAI",
      "400 This model's maximum context length is 128000 tokens. However, your messages resulted in 140000 tokens.",
    ],
    ["OpenAI", "context_length_exceeded: Your input is more than it takes."],
    [
      "OpenRouter",
      "400 This endpoint's maximum context length is 131072 tokens. However, you requested about 150000 tokens (149000 of text input, 1000 in the output).",
    ],
    [
      "Google",
      '{"error":{"code":400,"message":"The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).","status":"INVALID_ARGUMENT"}}',
    ],
    ["xAI", "This model's maximum prompt length is 131072 but the request contains 537812 tokens."],
    ["llama.cpp", "the request exceeds the available context size, try increasing it"],
    ["LM Studio", "The number of tokens to keep from the initial prompt is greater than the context length."],
    ["Groq", "400 Please reduce the length of the messages or completion."],
    ["Bedrock", "Validation error: Input is too long for requested model."],
    ["Copilot", "prompt token count of 80000 exceeds the limit of 64000"],
    ["MiniMax", "400 invalid params, context window exceeds limit"],
    ["Kimi", "400 Your request exceeded model token limit: 262144 (requested: 300000)"],
    [
      "Mistral",
      'Mistral API error (400): {"message":"Prompt contains 70000 tokens and 0 draft tokens, too large for model with 32768 maximum context length"}',
    ],
    ["Ollama", "400 prompt too long; exceeded max context length by 4821 tokens"],
    ["z.ai", "Provider finish_reason: model_context_window_exceeded"],
    ["Cerebras", "413 status code (no body)"],
    ["Cerebras", "400 (no body)"],
  ],
  request_size: [
    ["Anthropic", '413 {"error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}'],
    ["Google", "400 Request payload size exceeds the limit: 20971520 bytes."],
    ["nginx", "413 <html><head><title>413 Request Entity Too Large</title></head></html>"],
    ["Cloudflare", "413 error code: 413, access denied to this resource"],
  ],
  image_size: [
    [
      "Anthropic",
      '400 {"error":{"message":"messages.0.content.1.image.source.base64: image exceeds 5 MB maximum: 7000000 bytes > 5242880 bytes"}}',
    ],
    [
      "Anthropic",
      '400 {"error":{"message":"messages.0.content.1.image.source.base64.data: At least one of the image dimensions exceed max allowed size: 8000 pixels"}}',
    ],
    ["OpenAI", "413 The image is too large: 25 MB"],
  ],
  image_broken: [
    [
      "OpenAI",
      "400 You uploaded an unsupported image. Please make sure your image has of one of the following formats: ['png', 'jpeg', 'gif', 'webp'].",
    ],
    [
      "OpenAI",
      "400 The image data you provided does not represent a valid image. Please check your input and try again with one of the supported image formats.",
    ],
    ["OpenAI", '400 {"error":{"message":"Invalid image.","code":"invalid_image_format"}}'],
    ["Anthropic", '400 {"type":"error","error":{"type":"invalid_request_error","message":"Could not process image"}}'],
    [
      "Anthropic",
      "400 messages.0.content.1.image.source.base64: The image was specified using the image/png media type, but the image appears to be a image/jpeg image",
    ],
    ["Google", "400 Unable to process input image. Please retry or report in the developer forum."],
    ["Google", "400 Provided image is not valid."],
    ["vLLM", "400 image file is truncated (7 bytes not processed)"],
    ["vLLM", "400 broken data stream when reading image file"],
    ["Ollama", "500 Failed to load image or audio file"],
  ],
  thinking_unsupported: [
    ["OpenAI", "400 Unsupported value: 'reasoning_effort' does not support 'minimal' with this model."],
    ["OpenAI", "400 Unrecognized request argument supplied: reasoning_effort"],
    ["Ollama", '400 "llama3.2:latest" does not support thinking'],
    ["Anthropic", '400 {"error":{"message":"`max_tokens` must be greater than `thinking.budget_tokens`."}}'],
  ],
  thinking_refused: [
    ["Anthropic", "400 messages.1.content.0: Invalid `signature` in `thinking` block"],
    [
      "Anthropic",
      '400 {"error":{"message":"messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `text`. When `thinking` is enabled, a final `assistant` message must start with a thinking block"}}',
    ],
  ],
  model_missing: [
    ["OpenAI", "404 The model `gpt-9` does not exist or you do not have access to it."],
    ["OpenAI", "403 Project `proj_x` does not have access to model `gpt-5.1`"],
    ["Anthropic", '404 {"type":"error","error":{"type":"not_found_error","message":"model: claude-9"}}'],
    [
      "Google",
      '{"error":{"code":404,"message":"models/gemini-9 is not found for API version v1beta","status":"NOT_FOUND"}}',
    ],
    ["Ollama", 'model "qwen9" not found, try pulling it first'],
    ["OpenRouter", "400 foo/bar is not a valid model ID"],
    ["OpenRouter", "404 No endpoints found for foo/bar."],
    ["Groq", "400 The model `mixtral` has been decommissioned and is no longer supported."],
    ["Bedrock", "Validation error: The provided model identifier is invalid."],
    ["a wrong path", "404 404 page not found"],
  ],
  role_ordering: [
    ["Anthropic", "400 messages: roles must alternate between user and assistant"],
    ["Anthropic", '400 {"error":{"message":"messages: first message must use the \\"user\\" role"}}'],
    ["Kimi", "400 incorrect role information"],
    [
      "vLLM",
      "400 After the optional system message, conversation roles must alternate user/assistant/user/assistant/...",
    ],
    ["Perplexity", "400 After the (optional) system message(s), user and assistant roles should be alternating."],
    ["Mistral", "Mistral API error (400): {\"message\":\"Unexpected role 'user' after role 'tool'\"}"],
    ["Google", "400 Please ensure that multiturn requests alternate between user and model."],
    ["Bedrock", "Validation error: A conversation must start with a user message."],
    [
      "Anthropic",
      "400 This model does not support assistant message prefill. The conversation must end with a user message.",
    ],
  ],
  call_ordering: [
    [
      "Google",
      "400 Please ensure that function call turn comes immediately after a user turn or after a function response turn.",
    ],
    [
      "Google",
      "400 Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.",
    ],
    ["Google", "400 Function call is missing a thought_signature in functionCall parts."],
    [
      "Anthropic",
      "400 messages.2: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_01. Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
    ],
    ["Anthropic", "400 messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_01."],
    ["Anthropic", "400 messages.3.content.1: `tool_use` ids must be unique"],
    ["OpenAI", "400 No tool call found for function call output with call_id call_x."],
    ["OpenAI", "400 No tool output found for function call call_x."],
    ["OpenAI", "400 Item 'rs_x' of type 'reasoning' was provided without its required following item."],
    [
      "OpenAI",
      "400 An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: call_x",
    ],
    ["DeepSeek", "400 Messages with role 'tool' must be a response to a preceding message with 'tool_calls'"],
    ["Kimi", "400 Invalid request: tool_call_id  is not found"],
    ["Mistral", 'Mistral API error (400): {"message":"Not the same number of function calls and responses"}'],
    [
      "Bedrock",
      "Validation error: The number of toolResult blocks at messages.2.content exceeds the number of toolUse blocks of previous turn.",
    ],
  ],
  timeout: [
    ["the SDK", "Request timed out."],
    ["Google", "504 Deadline Exceeded"],
    ["Cloudflare", "524 status code (no body)"],
  ],
  network: [
    ["the SDK", "Connection error."],
    ["Node", "connect ECONNREFUSED 127.0.0.1:11434"],
    ["Node", "getaddrinfo ENOTFOUND api.nowhere.example"],
    ["Node", "fetch failed"],
    ["Node", "self-signed certificate in certificate chain"],
    ["Node", "terminated"],
    ["Node", "other side closed"],
    ["Node", "aborted"],
    ["OpenRouter", "Provider finish_reason: network_error"],
    ["Anthropic", '500 {"type":"error","error":{"type":"api_error","message":"Internal server error"}}'],
    ["OpenAI", "Error Code server_error: The server had an error while processing your request."],
    ["any", "502 <html>Bad Gateway</html>"],
  ],
  cut_off: [
    ["Anthropic", "Anthropic stream ended before message_stop"],
    ["Codex", "WebSocket stream closed before response.completed"],
    ["Node", "Premature close"],
  ],
  refusal: [
    ["OpenAI", "Provider finish_reason: content_filter"],
    ["Anthropic", '400 {"error":{"message":"Output blocked by content filtering policy"}}'],
    ["Azure", "400 The response was filtered due to the prompt triggering Azure OpenAI's content management policy."],
    ["OpenAI", "400 invalid_prompt: Your prompt was flagged as potentially violating our usage policy."],
    ["Alibaba", "400 data_inspection_failed: Input data may contain inappropriate content."],
  ],
  format: [["Anthropic", "400 messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"]],
  unknown: [
    ["nobody", "something quite new"],
    ["nobody", ""],
  ],
};

describe("a provider's words", () => {
  const rows = Object.entries(TEXTS).flatMap(([kind, texts]) => texts.map((row) => [kind, ...row] as const));
  it.each(rows)("are %s (%s): %s", (kind, _provider, text) => {
    expect(classifyFailure(text).kind).toBe(kind);
  });

  it("are known wherever the SDK knows an overflow", () => {
    const texts = [...TEXTS.context_overflow, ...TEXTS.request_size];
    const isKnown = (pattern: RegExp) => texts.some(([, text]) => pattern.test(text));
    const unproven = getOverflowPatterns().filter((pattern) => !isKnown(pattern));
    // The SDK's guess of a text that no provider is known to send.
    expect(unproven.map(String)).toEqual(["/too many tokens/i", "/token limit exceeded/i"]);
  });

  it.each([
    ["Please retry in 34.07s.", 34_070],
    ["Please try again in 6ms.", 6],
    ["Please try again in 1m2.5s.", 62_500],
    ["Please try again in 7m.", 420_000],
    ["Please try again in 7h12m0s.", 25_920_000],
    ["Try again in ~45 min.", 2_700_000],
    ["Please retry after 10 seconds", 10_000],
    ['{"retry-after":"12"}', 12_000],
    ["retry_after: 500 ms", 500],
    ['{"retry_after_ms": 750}', 750],
    ['"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34s"', 34_000],
    ['"retryDelay": "0.5s"', 500],
  ])("say how long to wait: %s", (text, ms) => {
    expect(classifyFailure(text).retryAfterMs).toBe(ms);
  });

  it("say nothing about waiting most of the time", () => {
    expect(classifyFailure("429 slow down, try again in a while")).not.toHaveProperty("retryAfterMs");
    expect(classifyFailure("529 Overloaded. Please try again later.")).not.toHaveProperty("retryAfterMs");
  });

  it("are cut short and shown without keys", () => {
    const { message } = classifyFailure(`401 bad key sk-ant-api03-${"x".repeat(40)} in\n\n${"body ".repeat(400)}`);
    expect(message).not.toContain("api03");
    expect(message).toContain("[secret]");
    expect(message.length).toBeLessThanOrEqual(401);
    expect(classifyFailure(" ").message).not.toBe("");
    Secret.remember("local-abcdefgh");
    expect(classifyFailure("401 bad key local-abcdefgh").message).toBe("401 bad key [secret]");
  });

  it("distinguish a wrong path from a wrong model", () => {
    expect(classifyFailure("404 404 page not found").message).toContain("baseUrl");
    expect(classifyFailure("404 The model `gpt-9` does not exist").message).not.toContain("baseUrl");
  });

  it.each<[status: number | undefined, kind: FailureKind, text: string]>([
    [502, "network", "502 bad gateway: failed to load image service"],
    [undefined, "network", "bad gateway: failed to load image service"],
    [500, "network", "Unable to process input image. Please retry"],
    [undefined, "network", "500 Unable to process input image. Please retry"],
    [503, "overloaded", "Could not process image"],
    [undefined, "timeout", "Invalid image URL: download timed out"],
    [400, "timeout", "Invalid image URL: download timed out"],
    [undefined, "refusal", "the image could not be shown under our usage policy"],
    [undefined, "refusal", "image file moderation blocked"],
    [undefined, "unknown", "image file storage is down"],
    [400, "image_broken", "Unable to process input image. Please retry"],
    [415, "image_broken", "Unsupported MIME type: image/bmp"],
    [422, "image_broken", "Invalid image"],
    [200, "image_broken", "Invalid image"],
    [undefined, "image_broken", "Invalid image"],
  ])("of an image blame it only where the request is at fault (%s, %s): %s", (status, kind, text) => {
    expect(classifyFailure(text, status === undefined ? {} : { status }).kind).toBe(kind);
  });

  it("always get a kind, a bounded message, and quickly", () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 2000 }), fc.integer({ min: 100, max: 599 }), (text, status) => {
        const { kind, message } = classifyFailure(text, { status });
        expect(FAILURE_KINDS).toContain(kind);
        expect(message.length).toBeLessThan(480);
      }),
    );
    const spent = processorTime(() => {
      for (const text of [
        "thinking ".repeat(8000),
        "try again in ".concat("1".repeat(60_000)),
        "image ".repeat(10_000),
      ])
        classifyFailure(text);
    });
    expect(spent).toBeLessThan(1000);
  });
});

describe("a status", () => {
  it.each([
    [400, "format"],
    [401, "auth"],
    [402, "billing"],
    [403, "auth"],
    [404, "model_missing"],
    [408, "timeout"],
    [413, "request_size"],
    [422, "format"],
    [429, "rate_limit"],
    [500, "network"],
    [503, "overloaded"],
    [504, "timeout"],
    [529, "overloaded"],
    [599, "unknown"],
  ] as const)("%i means %s when the text is bare", (status, kind) => {
    for (const text of ["", "{}", "quite new words"]) expect(classifyFailure(text, { status }).kind).toBe(kind);
  });

  it("says less than the text", () => {
    expect(classifyFailure("prompt is too long", { status: 400 }).kind).toBe("context_overflow");
    expect(classifyFailure("image too large", { status: 413 }).kind).toBe("image_size");
    expect(classifyFailure("Overloaded", { status: 500 }).kind).toBe("overloaded");
  });

  it("of a request that is too large says nothing about a key or a server, however the page is worded", () => {
    for (const text of ["access denied", "Forbidden", "rate limit", "timed out", "service unavailable", "overloaded"])
      expect(classifyFailure(text, { status: 413 }).kind).toBe("request_size");
  });

  it.each([400, 415, 422])("of %i is not overruled by what a person wrote and the refusal quotes", (status) => {
    const written = "my api key is invalid, unauthorized; rate limit; billing; the server timed out and is overloaded";
    const quoting = [
      `Invalid value: '${written}'. Supported values are: 'user' and 'system'.`,
      `messages.3.content: Input should be a valid list, got "${written}"`,
      `could not read \`${written}\` as a message`,
    ];
    for (const text of quoting) expect(classifyFailure(`${status} ${text}`, { status }).kind).toBe("format");
    const detail = [
      { type: "string_type", loc: ["body", "messages"], msg: "Input should be a string", input: written },
    ];
    const refusal = readRefusal(JSON.stringify({ detail }));
    expect(classifyFailure(`${status} ${refusal?.message}`, { status, ...defined({ refusal }) }).kind).toBe("format");
  });

  it("of too many requests is never an overflow", () => {
    expect(classifyFailure("Limit: too many tokens per minute", { status: 429 }).kind).toBe("rate_limit");
    expect(classifyFailure("insufficient_quota", { status: 429 }).kind).toBe("billing");
  });

  it("comes with the wait that the headers asked for", () => {
    const facts = { status: 429, retryAfterMs: 12_000 };
    expect(classifyFailure("Please try again in 1.2s.", facts).retryAfterMs).toBe(12_000);
  });
});

describe("an image's bounds", () => {
  it.each([
    ["image exceeds 5 MB maximum: 7000000 bytes > 5242880 bytes", { maxBytes: 5_242_880 }],
    ["image exceeds 5 MB maximum", { maxBytes: 5_000_000 }],
    ["At least one of the image dimensions exceed max allowed size: 8000 pixels", { maxDimensionPx: 8000 }],
    [
      "messages.5: image dimensions exceed max allowed size for many-image requests: 2000 pixels",
      { maxDimensionPx: 2000 },
    ],
    ["Image size 7.5MB exceeds the limit of 3.75 MiB", { maxBytes: 3_932_160 }],
    ["Images must be below 4096x2048 px and 20 MB at most", { maxDimensionPx: 2048 }],
  ])("are in %s", (text, size) => {
    expect(parseImageSize(text)).toMatchObject(size);
  });

  it("are in no other text", () => {
    expect(parseImageSize("prompt is too long: 213462 tokens > 200000 maximum")).toBeUndefined();
    expect(parseImageSize("The image data you provided does not represent a valid image")).toBeUndefined();
  });
});
