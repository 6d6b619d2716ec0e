import { describe, expect, it } from "vitest";
import { classifyFailure } from "../../src/providers/failure.ts";
import type { FailureKind } from "../../src/types/run.ts";

/** What providers really send, as the SDK hands it on. */
const TEXTS: readonly (readonly [FailureKind, string])[] = [
  ["auth", '401 {"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}'],
  [
    "auth",
    "401 Incorrect API key provided: sk-abc***def. You can find your API key at https://platform.openai.com/account/api-keys.",
  ],
  ["auth", "400 API key not valid. Please pass a valid API key."],
  ["auth", '403 {"error":{"code":403,"status":"PERMISSION_DENIED","message":"Permission denied"}}'],
  [
    "billing",
    '400 {"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}}',
  ],
  [
    "billing",
    "429 You exceeded your current quota, please check your plan and billing details. For more information on this error, read the docs.",
  ],
  ["billing", "402 Insufficient credits. Add more using https://openrouter.ai/settings/credits"],
  ["billing", "402 Insufficient Balance"],
  [
    "rate_limit",
    '429 {"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed your rate limit."}}',
  ],
  [
    "rate_limit",
    "429 Rate limit reached for gpt-5.1 in organization org-x on tokens per min (TPM): Limit 30000. Please try again in 1.2s.",
  ],
  [
    "rate_limit",
    "429 Request too large for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, Requested 32000.",
  ],
  [
    "rate_limit",
    "429 You exceeded your current quota, please check your plan and billing details. * Quota exceeded for metric: generate_content_free_tier_requests, limit: 20\nPlease retry in 34.07s.",
  ],
  ["rate_limit", "429 status code (no body)"],
  ["rate_limit", "ThrottlingException: Too many requests, please wait before trying again."],
  ["overloaded", '529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}'],
  [
    "overloaded",
    '503 {"error":{"code":503,"message":"The model is overloaded. Please try again later.","status":"UNAVAILABLE"}}',
  ],
  [
    "context_overflow",
    '400 {"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 213462 tokens > 200000 maximum"}}',
  ],
  [
    "context_overflow",
    "400 Your input exceeds the context window of this model. Please adjust your input and try again.",
  ],
  [
    "context_overflow",
    "400 This model's maximum context length is 128000 tokens. However, your messages resulted in 140000 tokens.",
  ],
  ["context_overflow", "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575)."],
  ["context_overflow", "This model's maximum prompt length is 131072 but the request contains 537812 tokens."],
  ["context_overflow", "the request exceeds the available context size, try increasing it"],
  ["context_overflow", "Please reduce the length of the messages or completion."],
  ["context_overflow", "ValidationException: Input is too long for requested model."],
  ["context_overflow", "prompt token count of 80000 exceeds the limit of 64000"],
  [
    "image_size",
    '400 {"error":{"message":"messages.0.content.1.image.source.base64: image exceeds 5 MB maximum: 7000000 bytes > 5242880 bytes"}}',
  ],
  ["thinking_unsupported", "400 Unsupported value: 'reasoning_effort' does not support 'minimal' with this model."],
  ["thinking_unsupported", "400 Unrecognized request argument supplied: reasoning_effort"],
  ["thinking_unsupported", '400 "llama3.2:latest" does not support thinking'],
  ["model_missing", "404 The model `gpt-9` does not exist or you do not have access to it."],
  ["model_missing", 'model "qwen9" not found, try pulling it first'],
  ["model_missing", "400 foo/bar is not a valid model ID"],
  ["timeout", "Request timed out."],
  ["timeout", "504 Deadline Exceeded"],
  ["network", "Connection error."],
  ["network", "connect ECONNREFUSED 127.0.0.1:11434"],
  ["network", "terminated"],
  ["network", "other side closed"],
  ["network", '500 {"type":"error","error":{"type":"api_error","message":"Internal server error"}}'],
  ["cut_off", "Anthropic stream ended before message_stop"],
  ["refusal", "Provider finish_reason: content_filter"],
  [
    "format",
    '400 {"type":"error","error":{"type":"invalid_request_error","message":"messages: roles must alternate between user and assistant"}}',
  ],
  ["format", "400 Invalid 'max_tokens': integer above maximum value."],
  ["unknown", "something quite new"],
  ["unknown", ""],
];

describe("a provider's words", () => {
  it.each(TEXTS)("are %s: %s", (kind, text) => {
    expect(classifyFailure(text).kind).toBe(kind);
  });

  it.each([
    ["Please retry in 34.07s.", 34_070],
    ["Please try again in 6ms.", 6],
    ["Please try again in 1m2.5s.", 62_500],
    ["Please try again in 7m.", 420_000],
    ['{"retry-after":"12"}', 12_000],
    ["retry_after: 500 ms", 500],
  ])("say how long to wait: %s", (text, ms) => {
    expect(classifyFailure(text).retryAfterMs).toBe(ms);
  });

  it("say nothing about waiting most of the time", () => {
    expect(classifyFailure("429 slow down, try again in a while")).not.toHaveProperty("retryAfterMs");
  });

  it("are cut short and shown without keys", () => {
    const { message } = classifyFailure(`401 bad key sk-ant-api03-${"x".repeat(40)} in\n\n${"body ".repeat(400)}`);
    expect(message).not.toContain("api03");
    expect(message).toContain("[secret]");
    expect(message.length).toBeLessThanOrEqual(401);
    expect(classifyFailure(" ").message).not.toBe("");
  });
});
