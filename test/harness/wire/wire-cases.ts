import type { Remedy } from "../../../src/harness/failover/policy.ts";
import type { FailureKind } from "../../../src/types/run/run.ts";
import type { ModelReply } from "../../fakes/model.ts";
import { completionsVoice, googleVoice, messagesVoice, responsesVoice, type Voice } from "../../fakes/model-voices.ts";
import { errorOf, REFS, type WireApi } from "./wires.ts";

/** What it ends as, what is done before that, how long is waited, and whether another model is asked. */
type Row = readonly [kind: FailureKind, remedies: readonly Remedy[], waits: readonly number[], isHandedOn: boolean];

/** A way to fail, and what is done about it when no other model is there. */
export interface Case {
  readonly name: string;
  readonly reply: (api: WireApi) => ModelReply | undefined;
  readonly ends: Row;
  /** Nobody listens where the model should be. */
  readonly isDead?: boolean;
}

const WORDS = "one two three four";
const waits = (...ms: number[]): readonly number[] => ms;
const RATED: Row = ["rate_limit", ["wait", "wait"], waits(1000, 2000), true];
const MISSED: Row = ["network", ["wait", "wait", "wait"], waits(1000, 2000, 4000), true];
const BUSY: Row = ["overloaded", ["wait", "wait"], waits(1000, 2000), true];
const CUT: Row = ["cut_off", ["wait", "wait"], waits(1000, 2000), true];
const FULL: Row = ["context_overflow", ["compact", "shrink_window"], waits(), true];
const MISREAD: Row = ["call_ordering", ["strict_history"], waits(), true];

/** The same everywhere, but for the words. */
const says =
  (status: number, words: Readonly<Record<WireApi, readonly [message: string, type?: string]>>) => (api: WireApi) => {
    const [message, type = "invalid_request_error"] = words[api];
    return errorOf(api, status, { message, type });
  };
/** Only one provider says so. */
const only = (of: WireApi, status: number, message: string, type: string) => (api: WireApi) =>
  api === of ? errorOf(api, status, { message, type }) : undefined;
const limited = (headers: Readonly<Record<string, string>>) => (api: WireApi) =>
  errorOf(api, 429, { message: "Rate limit reached for requests", type: "rate_limit_error" }, headers);
const always = (reply: ModelReply) => () => reply;

const NO_KEY = {
  "openai-completions": ["Incorrect API key provided: sk-te**6789.", "invalid_api_key"],
  "openai-responses": ["Incorrect API key provided: sk-te**6789.", "invalid_api_key"],
  "anthropic-messages": ["invalid x-api-key", "authentication_error"],
  "google-generative-ai": ["Request had invalid authentication credentials.", "UNAUTHENTICATED"],
} as const;
const NOT_ALLOWED = {
  "openai-completions": ["You are not allowed to sample from this project", "insufficient_permissions"],
  "openai-responses": ["Country, region, or territory not supported", "unsupported_country_region_territory"],
  "anthropic-messages": ["Your API key does not have permission to use the specified resource.", "permission_error"],
  "google-generative-ai": ["The caller does not have permission", "PERMISSION_DENIED"],
} as const;
const NO_MODEL = {
  "openai-completions": ["The model `plain-1` does not exist or you do not have access to it.", "model_not_found"],
  "openai-responses": ["The model `gpt-5` does not exist or you do not have access to it.", "model_not_found"],
  "anthropic-messages": ["model: claude-sonnet-4-5", "not_found_error"],
  "google-generative-ai": ["models/gemini-2.5-pro is not found for API version v1beta", "NOT_FOUND"],
} as const;
const BROKEN = {
  "openai-completions": ["The server had an error while processing your request.", "server_error"],
  "openai-responses": ["The server had an error while processing your request.", "server_error"],
  "anthropic-messages": ["Internal server error", "api_error"],
  "google-generative-ai": ["An internal error has occurred.", "INTERNAL"],
} as const;
const AWAY = {
  "openai-completions": ["The engine is currently overloaded, please try again later", "server_error"],
  "openai-responses": ["Service Unavailable", "server_error"],
  "anthropic-messages": ["Overloaded", "overloaded_error"],
  "google-generative-ai": ["The model is overloaded. Please try again later.", "UNAVAILABLE"],
} as const;
const TOO_LONG = {
  "openai-completions": [
    "This model's maximum context length is 128000 tokens. However, your messages resulted in 130041 tokens. Please reduce the length of the messages.",
    "context_length_exceeded",
  ],
  "openai-responses": [
    "Your input exceeds the context window of this model. Please adjust your input and try again.",
    "context_length_exceeded",
  ],
  "anthropic-messages": ["prompt is too long: 213462 tokens > 200000 maximum"],
  "google-generative-ai": [
    "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).",
    "INVALID_ARGUMENT",
  ],
} as const;
const NO_THINKING = {
  "openai-completions": ["Unsupported value: 'reasoning_effort' does not support 'low' with this model."],
  "openai-responses": ["Unsupported parameter: 'reasoning.effort' is not supported with this model."],
  "anthropic-messages": ["thinking: this model does not support thinking. budget_tokens is not allowed."],
  "google-generative-ai": ["Thinking is not supported for this model: invalid thinking_config.", "INVALID_ARGUMENT"],
} as const;
const BAD_ROLES = {
  "openai-completions": ["Conversation roles must alternate user/assistant/user/assistant/..."],
  "openai-responses": ["Conversation roles must alternate user/assistant/user/assistant/..."],
  "anthropic-messages": ['messages: roles must alternate between "user" and "assistant"'],
  "google-generative-ai": ["Please ensure that multiturn requests alternate between user and model."],
} as const;
const POOR: Readonly<Record<WireApi, readonly [string, string]>> = {
  "openai-completions": ["Insufficient credits. Add more using https://openrouter.ai/settings/credits", "402"],
  "openai-responses": ["Insufficient balance", "insufficient_quota"],
  "anthropic-messages": ["Payment required", "billing_error"],
  "google-generative-ai": ["Billing is not enabled for this project.", "FAILED_PRECONDITION"],
};
const inSeconds = (seconds: number) => new Date(Math.ceil(Date.now() / 1000 + seconds) * 1000).toUTCString();

const VOICES: Readonly<Record<WireApi, (model: string) => Voice>> = {
  "openai-completions": completionsVoice,
  "openai-responses": responsesVoice,
  "anthropic-messages": messagesVoice,
  "google-generative-ai": googleVoice,
};
/** Words, and then one more event. */
const streamed =
  (last: Readonly<Partial<Record<WireApi, object>>>, words = WORDS) =>
  (api: WireApi): ModelReply | undefined => {
    const event = last[api];
    if (!event) return undefined;
    const voice = VOICES[api](REFS[api].id);
    const type = "type" in event ? `event: ${String(event.type)}\n` : "";
    const body = `${voice.begin()}${words === "" ? "" : voice.word(words)}${type}data: ${JSON.stringify(event)}\n\n`;
    return { raw: { status: 200, headers: { "content-type": "text/event-stream" }, body } };
  };
const stopped = (reason: string) => ({
  "anthropic-messages": { type: "message_delta", delta: { stop_reason: reason }, usage: { output_tokens: 1 } },
  "google-generative-ai": { candidates: [{ content: { parts: [], role: "model" }, finishReason: reason }] },
  "openai-completions": { choices: [{ index: 0, delta: {}, finish_reason: reason }] },
});
const BUSY_IN_STREAM = {
  "anthropic-messages": { type: "error", error: { type: "overloaded_error", message: "Overloaded" } },
  "openai-completions": { error: { code: 503, message: "Service Unavailable: the model is overloaded" } },
  "openai-responses": {
    type: "response.failed",
    response: {
      id: "r",
      status: "failed",
      error: { code: "server_is_overloaded", message: "The server is overloaded" },
    },
  },
  "google-generative-ai": { error: { code: 503, status: "UNAVAILABLE", message: "The model is overloaded." } },
};
/** What a provider may find out after it began to answer, in its words and as its stream tells it. */
const inStream = (code: number, words: Readonly<Record<WireApi, readonly [message: string, type: string]>>) => {
  const event = ([message, type]: readonly [string, string]) => ({ code, status: type, type, message });
  const failed = words["openai-responses"];
  return {
    "anthropic-messages": { type: "error", error: event(words["anthropic-messages"]) },
    "openai-completions": { error: event(words["openai-completions"]) },
    "openai-responses": {
      type: "response.failed",
      response: { id: "r", status: "failed", error: { code: failed[1], message: failed[0] } },
    },
    "google-generative-ai": { error: event(words["google-generative-ai"]) },
  };
};
const RATED_IN_STREAM = inStream(429, {
  "openai-completions": ["Rate limit reached for requests", "rate_limit_exceeded"],
  "openai-responses": ["Rate limit reached for requests", "rate_limit_exceeded"],
  "anthropic-messages": ["Number of requests has exceeded your rate limit", "rate_limit_error"],
  "google-generative-ai": ["Resource has been exhausted (e.g. check quota).", "RESOURCE_EXHAUSTED"],
});
const POOR_IN_STREAM = inStream(402, POOR);
const NO_KEY_IN_STREAM = inStream(401, NO_KEY);
const BAD_IN_STREAM = inStream(400, {
  "openai-completions": ["Invalid request: provider returned error", "invalid_request_error"],
  "openai-responses": ["Bad request", "invalid_request_error"],
  "anthropic-messages": ["Bad request", "invalid_request_error"],
  "google-generative-ai": ["Bad request", "INVALID_ARGUMENT"],
});
const FULL_IN_STREAM = {
  ...inStream(400, {
    "openai-completions": [TOO_LONG["openai-completions"][0], "context_length_exceeded"],
    "openai-responses": [TOO_LONG["openai-responses"][0], "context_length_exceeded"],
    "anthropic-messages": [TOO_LONG["anthropic-messages"][0], "invalid_request_error"],
    "google-generative-ai": [TOO_LONG["google-generative-ai"][0], "INVALID_ARGUMENT"],
  }),
  "anthropic-messages": stopped("model_context_window_exceeded")["anthropic-messages"],
};
const HURT_IN_STREAM = {
  "anthropic-messages": { type: "error", error: { type: "api_error", message: "Internal server error" } },
  "openai-completions": { error: { code: 500, message: "Internal Server Error" } },
  "openai-responses": {
    type: "error",
    code: "server_error",
    message: "An error occurred while processing your request.",
  },
  "google-generative-ai": { error: { code: 500, status: "INTERNAL", message: "An internal error has occurred." } },
};

export const CASES: readonly Case[] = [
  { name: "401", reply: says(401, NO_KEY), ends: ["auth", [], waits(), true] },
  { name: "402", reply: says(402, POOR), ends: ["billing", [], waits(), true] },
  {
    name: "400 for an empty account",
    reply: only(
      "anthropic-messages",
      400,
      "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade.",
      "invalid_request_error",
    ),
    ends: ["billing", [], waits(), true],
  },
  {
    name: "429 for an empty account",
    reply: only(
      "openai-responses",
      429,
      "You exceeded your current quota, please check your plan and billing details.",
      "insufficient_quota",
    ),
    ends: ["billing", [], waits(), true],
  },
  { name: "403", reply: says(403, NOT_ALLOWED), ends: ["auth", [], waits(), true] },
  { name: "404", reply: says(404, NO_MODEL), ends: ["model_missing", [], waits(), true] },
  { name: "429", reply: limited({}), ends: RATED },
  {
    name: "429 with Retry-After in seconds",
    reply: limited({ "retry-after": "7" }),
    ends: ["rate_limit", ["wait", "wait"], waits(7000, 7000), true],
  },
  {
    name: "429 with Retry-After as a date",
    reply: () => limited({ "retry-after": inSeconds(20) })("openai-completions"),
    ends: ["rate_limit", ["wait", "wait"], waits(20_000, 20_000), true],
  },
  {
    name: "429 with Retry-After beyond a minute",
    reply: limited({ "retry-after": "61" }),
    ends: ["rate_limit", [], waits(), true],
  },
  {
    name: "429 that tells the wait in its text",
    reply: only(
      "google-generative-ai",
      429,
      "You exceeded your quota of requests per minute. Please retry in 34.5s.",
      "RESOURCE_EXHAUSTED",
    ),
    ends: ["rate_limit", ["wait", "wait"], waits(34_500, 34_500), true],
  },
  { name: "500", reply: says(500, BROKEN), ends: MISSED },
  { name: "503", reply: says(503, AWAY), ends: BUSY },
  { name: "529", reply: says(529, AWAY), ends: BUSY },
  { name: "a refused connection", reply: always("reset"), ends: MISSED, isDead: true },
  { name: "a reset before the answer", reply: always("reset"), ends: MISSED },
  { name: "a reset in mid-text", reply: always({ text: WORDS, ending: "reset" }), ends: CUT },
  { name: "an end in mid-text", reply: always({ text: WORDS, ending: "eof" }), ends: CUT },
  {
    name: "an end in mid-call",
    reply: always({ text: "", tool: "send", args: { text: "half a call" }, argsCut: 9, ending: "eof" }),
    ends: CUT,
  },
  {
    name: "an end in mid-call behind words",
    reply: always({ text: WORDS, tool: "send", args: { text: "half a call" }, argsCut: 9, ending: "eof" }),
    ends: CUT,
  },
  { name: "silence", reply: always("hang"), ends: ["timeout", ["wait"], waits(1000), true] },
  {
    name: "silence in mid-text",
    reply: always({ text: WORDS, ending: "stall" }),
    ends: ["timeout", ["wait"], waits(1000), true],
  },
  { name: "400 for too long a conversation", reply: says(400, TOO_LONG), ends: FULL },
  {
    name: "413",
    reply: only("anthropic-messages", 413, "Request exceeds the maximum size", "request_too_large"),
    ends: ["request_size", ["shrink_window"], waits(), true],
  },
  {
    name: "400 for thinking",
    reply: says(400, NO_THINKING),
    ends: ["thinking_unsupported", ["lower_thinking", "lower_thinking"], waits(), true],
  },
  { name: "400 for roles", reply: says(400, BAD_ROLES), ends: ["role_ordering", ["strict_history"], waits(), true] },
  {
    name: "400 for calls out of order (Google)",
    reply: only(
      "google-generative-ai",
      400,
      "Please ensure that function call turn comes immediately after a user turn or after a function response turn.",
      "INVALID_ARGUMENT",
    ),
    ends: MISREAD,
  },
  {
    name: "400 for calls out of order (Anthropic)",
    reply: only(
      "anthropic-messages",
      400,
      "messages.2: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1.",
      "invalid_request_error",
    ),
    ends: MISREAD,
  },
  {
    name: "400 for calls out of order (OpenAI)",
    reply: only(
      "openai-completions",
      400,
      "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'.",
      "invalid_request_error",
    ),
    ends: MISREAD,
  },
  {
    name: "400 for calls without output (Responses)",
    reply: only("openai-responses", 400, "No tool output found for function call call_1.", "invalid_request_error"),
    ends: MISREAD,
  },
  {
    name: "400 without a reason",
    reply: (api) => errorOf(api, 400, { message: "Bad request" }),
    ends: ["format", ["strict_history"], waits(), true],
  },
  { name: "a rate limit in mid-text", reply: streamed(RATED_IN_STREAM), ends: RATED },
  { name: "an empty account in mid-text", reply: streamed(POOR_IN_STREAM), ends: ["billing", [], waits(), true] },
  { name: "a lost key in mid-text", reply: streamed(NO_KEY_IN_STREAM), ends: ["auth", [], waits(), true] },
  {
    name: "an error without a reason in mid-text",
    reply: streamed(BAD_IN_STREAM),
    ends: ["format", ["strict_history"], waits(), true],
  },
  {
    name: "a full window in mid-text",
    reply: streamed(FULL_IN_STREAM),
    // Each request asks for the rest of what came, so that none is the same.
    ends: [
      "context_overflow",
      ["compact", ...Array.from({ length: 5 }, () => "shrink_window" as const)],
      waits(),
      true,
    ],
  },
  { name: "an overload in mid-text", reply: streamed(BUSY_IN_STREAM), ends: BUSY },
  { name: "an overload before the first word", reply: streamed(BUSY_IN_STREAM, ""), ends: BUSY },
  { name: "a server's error in mid-text", reply: streamed(HURT_IN_STREAM), ends: CUT },
  {
    name: "a stop for a full window",
    reply: (api) =>
      api === "anthropic-messages" ? streamed(stopped("model_context_window_exceeded"), "")(api) : undefined,
    ends: FULL,
  },
  {
    name: "a stop for a call that it could not write",
    reply: (api) =>
      api === "google-generative-ai" ? streamed(stopped("MALFORMED_FUNCTION_CALL"), "")(api) : undefined,
    ends: ["unknown", ["wait"], waits(1000), true],
  },
  {
    name: "a stop for an error",
    reply: (api) => (api === "openai-completions" ? streamed(stopped("error"))(api) : undefined),
    ends: ["unknown", ["wait"], waits(1000), true],
  },
  { name: "a refusal", reply: always({ text: "", reason: "refusal" }), ends: ["refusal", [], waits(), false] },
  {
    name: "a refusal in mid-text",
    reply: always({ text: WORDS, reason: "refusal" }),
    ends: ["refusal", [], waits(), false],
  },
  { name: "an empty answer", reply: always({ text: "" }), ends: ["unknown", ["wait"], waits(1000), true] },
];
