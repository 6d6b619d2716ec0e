import { describe, expect, it } from "vitest";
import { classifyFailure } from "../../src/providers/failure.ts";
import type { FailureKind } from "../../src/types/run/run.ts";

type Row = readonly [provider: string, status: number, text: string];

/**
 * What providers answer, each under the kind that it has to be, with the words of other kinds in it: names of models that sound like a
 * setting, refusals of one thing that mention another.
 */
const TEXTS: Readonly<Partial<Record<FailureKind, readonly Row[]>>> = {
  thinking_refused: [
    ["Anthropic", 400, "messages.1.content.0: Invalid `signature` in `thinking` block"],
    ["Anthropic", 400, "messages.5.content.2: Invalid `signature` in `redacted_thinking` block"],
    [
      "Anthropic",
      400,
      "messages.3.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.",
    ],
    ["Anthropic", 400, "messages.1.content.0.thinking: each thinking block must contain thinking"],
    [
      "Anthropic",
      400,
      "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`. When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks).",
    ],
    [
      "Bedrock",
      400,
      "ValidationException: The model returned the following errors: messages.7.content.0: Invalid `signature` in `thinking` block",
    ],
    ["Vertex", 400, "messages.1.content.0: Invalid `signature` in `thinking` block"],
    ["Google", 400, "Corrupted thought signature."],
    ["Google", 400, "Unable to submit request because Thought signature is not valid"],
    [
      "OpenAI",
      400,
      "The encrypted content for item rs_0a1b could not be verified. Reason: Encrypted content could not be decrypted or parsed. (invalid_encrypted_content)",
    ],
    [
      "Azure",
      400,
      "The encrypted content gAAA... could not be verified. (invalid_request_error, invalid_encrypted_content)",
    ],
    [
      "Groq",
      400,
      "'messages.2' : for 'role:assistant' the following must be satisfied[('messages.2' : property 'reasoning_content' is unsupported)]",
    ],
    [
      "Cerebras",
      400,
      "messages.2.assistant.reasoning_content: property 'messages.2.assistant.reasoning_content' is unsupported",
    ],
    ["DeepSeek", 400, "The reasoning_content is not supported in the input messages"],
  ],
  thinking_unsupported: [
    [
      "OpenAI",
      400,
      "Unsupported value: 'reasoning.effort' does not support 'minimal' with this model. Supported values are: 'low', 'medium', and 'high'.",
    ],
    ["OpenAI", 400, "Unsupported parameter: 'reasoning.effort' is not supported with this model."],
    [
      "OpenAI",
      400,
      "Invalid value: 'xhigh'. Supported values for 'reasoning_effort' are: 'low', 'medium' and 'high'. Unsupported value of reasoning_effort.",
    ],
    ["Azure", 400, "Unrecognized request argument supplied: reasoning_effort"],
    ["Groq", 400, "`reasoning_effort` must be one of `none` or `default`"],
    [
      "Groq",
      400,
      "reasoning_format is not supported with this model. `reasoning_effort` is not supported with this model",
    ],
    ["Mistral", 400, "reasoning_effort is not supported for this model"],
    ["xAI", 400, "Model grok-4 does not support parameter reasoningEffort, reasoning_effort is not supported."],
    ["Google", 400, "Budget 0 is invalid. This model only works in thinking mode; thinking budget is invalid."],
    [
      "Google",
      400,
      "Unable to submit request because thinking_budget is out of range; supported values are integers from 512 to 24576.",
    ],
    ["Google", 400, "Thinking level MINIMAL is not supported for this model. Please retry with other thinking level."],
    [
      "Google",
      400,
      "Invalid JSON payload received. Unknown name \"thinkingConfig\" at 'generation_config': Cannot find field.",
    ],
    ["Anthropic", 400, "adaptive thinking is not supported on this model"],
    ["Anthropic", 400, "`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our documentation"],
    [
      "Bedrock",
      400,
      "ValidationException: thinking.enabled.budget_tokens: Input should be greater than or equal to 1024",
    ],
    ["Ollama", 400, '"llama3.2:latest" does not support thinking'],
    ["Alibaba", 400, "parameter.enable_thinking must be set to false for non-streaming calls"],
    ["vLLM", 400, "This model does not support reasoning; disable reasoning in the request"],
  ],
  billing: [
    [
      "OpenRouter",
      402,
      "This request requires more credits, or fewer max_tokens. You requested up to 8192 tokens, but can only afford 812. To increase, visit https://openrouter.ai/settings/credits and upgrade to a paid account",
    ],
    [
      "a proxy without a status of its own",
      200,
      "This request requires more credits, or fewer max_tokens. You requested up to 8192 tokens, but can only afford 812.",
    ],
    ["OpenRouter", 402, "Insufficient credits. This account never purchased credits."],
    ["DeepSeek", 402, "Insufficient Balance"],
    [
      "Anthropic",
      400,
      "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.",
    ],
    [
      "OpenAI",
      429,
      "You exceeded your current quota, please check your plan and billing details. (insufficient_quota)",
    ],
    ["Mistral", 402, "Payment required: your workspace has no active subscription"],
    [
      "xAI",
      403,
      "Your newly created team doesn't have any credits yet. You can purchase credits on https://console.x.ai",
    ],
  ],
  auth: [
    [
      "OpenAI",
      401,
      "Incorrect API key provided: sk-abc. You can find your API key at https://platform.openai.com/account/api-keys.",
    ],
    ["a gateway of several models", 401, "Invalid API key for model qwen3-235b-thinking"],
    ["Anthropic", 401, "invalid x-api-key (authentication_error)"],
    ["Google", 400, "API key expired. Please renew the API key."],
    ["Azure", 401, "Access denied due to invalid subscription key or wrong API endpoint."],
    ["Bedrock", 403, "UnrecognizedClientException: The security token included in the request is invalid."],
    ["Mistral", 401, "Unauthorized"],
    ["LM Studio", 401, "Malformed LM Studio API token provided: invalid api key"],
  ],
  model_missing: [
    ["OpenRouter", 400, "moonshotai/kimi-k2-thinking is not a valid model ID"],
    ["Mistral", 400, "Invalid model: magistral-reasoning-latest"],
    ["Groq", 404, "The model `qwen-qwq-thinking` does not exist or you do not have access to it."],
    ["DeepSeek", 400, "Model Not Exist"],
    ["Azure", 404, "The API deployment for this resource does not exist. (DeploymentNotFound)"],
    ["Ollama", 404, 'model "qwen3-thinking" not found, try pulling it first'],
    ["LM Studio", 404, "No models loaded. Please load a model in the developer page or use the 'lms load' command."],
    [
      "Google",
      404,
      "models/gemini-2.0-flash-thinking-exp is not found for API version v1beta, or is not supported for generateContent.",
    ],
    [
      "Bedrock",
      400,
      "ValidationException: Invocation of model ID anthropic.claude-x with on-demand throughput isn't supported.",
    ],
  ],
  rate_limit: [
    ["Anthropic", 429, "This request would exceed your organization's rate limit of 40,000 input tokens per minute."],
    [
      "OpenAI",
      429,
      "Rate limit reached for o3 in organization org-x on tokens per min (TPM): Limit 30000, Used 20000, Requested 12000. Please try again in 4s.",
    ],
    [
      "Groq",
      429,
      "Rate limit reached for model `deepseek-r1-distill-llama-70b` on requests per minute (RPM): Limit 30. Please try again in 2s. Need more tokens? Upgrade to Dev Tier today at https://console.groq.com/settings/billing",
    ],
    ["Mistral", 429, "Requests rate limit exceeded"],
    ["Bedrock", 429, "ThrottlingException: Too many tokens, please wait before trying again."],
  ],
  overloaded: [
    ["Anthropic", 529, "Overloaded (overloaded_error)"],
    [
      "DeepSeek",
      503,
      "Service is too busy. We advise users to temporarily switch to alternative LLM API service providers.",
    ],
    ["Bedrock", 503, "ServiceUnavailableException: Bedrock is unable to process your request."],
  ],
  context_overflow: [
    ["Anthropic", 400, "prompt is too long: 213462 tokens > 200000 maximum"],
    [
      "llama.cpp",
      400,
      "the request exceeds the available context size. try increasing the context size or enable context shift",
    ],
    [
      "LM Studio",
      400,
      "The number of tokens to keep from the initial prompt is greater than the context length. Try to load the model with a larger context length",
    ],
    [
      "vLLM",
      400,
      "This model's maximum context length is 32768 tokens. However, your request has 40000 input tokens. Please reduce the length of the input messages.",
    ],
    [
      "DeepSeek",
      400,
      "This model's maximum context length is 131072 tokens. However, you requested 140000 tokens (131000 in the messages, 9000 in the completion).",
    ],
  ],
  output_limit: [
    [
      "Anthropic",
      400,
      "max_tokens: 64000 > 8192, which is the maximum allowed number of output tokens for claude-3-5-haiku",
    ],
    ["DeepSeek", 400, "Invalid max_tokens value, the valid range of max_tokens is [1, 8192]"],
    [
      "Groq",
      400,
      "`max_completion_tokens` must be less than or equal to `8192`, the maximum value for this reasoning model",
    ],
  ],
  call_ordering: [
    [
      "Anthropic",
      400,
      "messages.2: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1. Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
    ],
    [
      "OpenAI",
      400,
      "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'.",
    ],
    ["OpenAI", 400, "Item 'rs_1' of type 'reasoning' was provided without its required following item."],
    [
      "Google",
      400,
      "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly.",
    ],
    ["Mistral", 400, "Not the same number of function calls and responses"],
  ],
  role_ordering: [
    ["Mistral", 400, "Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant"],
    [
      "DeepSeek",
      400,
      "deepseek-reasoner does not support successive user or assistant messages (messages[1] and messages[2] in your input). You should interleave the user/assistant messages in the message sequence.",
    ],
    ["vLLM", 400, "Conversation roles must alternate user/assistant/user/assistant/..."],
  ],
  format: [
    ["OpenAI", 400, "Unsupported parameter: 'temperature' is not supported with reasoning models."],
    [
      "OpenAI",
      400,
      "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
    ],
    ["Anthropic", 400, "`temperature` may only be set to 1 when extended mode is on. (invalid_request_error)"],
    ["Ollama", 400, "registry.ollama.ai/library/deepseek-r1:latest does not support tools"],
    ["Mistral", 422, "Value error, Function name was unknown, but must be a-z, A-Z, 0-9"],
  ],
  image_broken: [
    [
      "DeepSeek",
      400,
      "Failed to deserialize the JSON body into the target type: messages[0]: unknown variant `image_url`, expected `text`. This model does not support image input",
    ],
    ["Anthropic", 400, "messages.0.content.1.image.source.base64.data: Could not process image"],
  ],
  network: [
    ["LM Studio", 400, "The model has crashed without additional information. (Exit code: null)"],
    ["OpenAI", 500, "The server had an error processing your request. Sorry about that! (server_error)"],
  ],
  loading: [["llama.cpp", 503, "Loading model (unavailable_error)"]],
};

const ROWS = Object.entries(TEXTS).flatMap(([kind, rows]) => (rows ?? []).map((row) => [kind, ...row] as const));

describe("the words of a refusal", () => {
  it.each(ROWS)("%s: %s %i: %s", (kind, _provider, status, text) => {
    const failure = classifyFailure(text, { status });
    expect(failure.kind).toBe(kind);
    // What a refusal costs is its own matter: no other limit is learned from it.
    if (kind === "billing") expect(failure).not.toHaveProperty("maxOutputTokens");
  });

  it.each(ROWS)("are the same within an SDK's text: %s: %s %i", (kind, _provider, status, text) => {
    const body = JSON.stringify({ type: "error", error: { type: "error", message: text } });
    expect(classifyFailure(`${status} ${body}`, { status }).kind).toBe(kind);
  });
});
