import type { FailureKind } from "../../types/run/run.ts";

/** Status codes of the provider that confirm a fault of the request; without them some texts may mean another fault. */
export const OF_THE_REQUEST: readonly number[] = [400, 415, 422];

/**
 * The setting of a request, also as a part of its name; neither the name of a model nor a word for a thinking model.
 */
const SETTING = String.raw`(?:(?<![\w/-])(?:reasoning|thinking)(?!-)|(?:enable|disable)_thinking|thinking_?(?:budget|level|config)|reasoning_effort)(?! models?\b)`;
/** Up to the end of a sentence; the dots in names count as no end. */
const REST = String.raw`(?:[^.]|\.(?=\S)){0,120}?`;
const THINKING_WORDS = new RegExp(
  [
    `${SETTING}${REST}(?:not support|unsupported|unrecogni[sz]ed|invalid|must be|out of range)`,
    `(?:unsupported|unrecogni[sz]ed|unknown|does not support|not support|invalid|not permitted)${REST}${SETTING}`,
    "budget_tokens",
  ].join("|"),
  "i",
);

/** The gateway's own text for a page that came in place of an answer. */
export const WEB_PAGE = /address answered with a web page/i;

/**
 * The texts of providers when a call fails: the kind, the pattern, who sends it, and the status it needs. The first match
 * counts, so narrow patterns come before wide ones.
 */
export const FAILURE_WORDS: readonly (readonly [FailureKind, RegExp, string, (readonly number[])?])[] = [
  // The gateway's own texts. The title of a quoted page says nothing about a key.
  ["network", WEB_PAGE, "a wrong baseUrl, a network that asks for a login"],
  // Whole sentences of one provider. They count whatever status and code come with them.
  [
    "refusal",
    /content violates usage guidelines|safety_check_type|content exists risk|data_?inspection_?failed|inappropriate content/i,
    "xAI with 403, DeepSeek, Alibaba",
  ],
  [
    "billing",
    /(doesn't|does not) have any credits|requires more credits|used all available credits|run out of credits|key limit exceeded|specified api usage limits|monthly spending limit|arrearage|account is in good standing|no resource package|insufficient_user_quota|prepayment credits are depleted|余额不足|budget has been exceeded|exceeded budget|budget_exceeded/i,
    "xAI with 403 and 429, OpenRouter with 403, Anthropic with 400, Alibaba, z.ai, Google, LiteLLM with 400 and 429",
  ],
  [
    "auth",
    /only authorized for use with claude code|organization(_| has been )restricted|unsupported countr/i,
    "Anthropic and Groq with 400, Bedrock: from this place nobody is let in",
  ],
  [
    "model_missing",
    /organization must be verified|non-serverless model|no endpoints available matching|access to the model with the specified/i,
    "OpenAI and Together with 400, OpenRouter, Bedrock with 403: the key may use other models",
  ],
  [
    "role_ordering",
    /does not support successive user or assistant|role '\w+' must (precede|follow)/i,
    "DeepSeek, Anthropic",
  ],
  [
    "thinking_refused",
    /invalid `?signature`? in `?(redacted_)?thinking|thinking`? (or `?redacted_thinking`? )?blocks?\b.{0,80}cannot be modified|each thinking block must contain|must start with a thinking block|(corrupted|invalid) thought.?signature|thought.?signature is (not valid|invalid)|invalid_encrypted_content|encrypted content .{0,120}could not be|reasoning_content['"`]?.{0,40} (is unsupported|(is )?not (supported|permitted|allowed))/is,
    "Anthropic, Bedrock, Google, OpenAI; DeepSeek, Groq and Cerebras, which take no thoughts back",
  ],
  [
    "image_broken",
    /image input is not supported|support image input|does not support image|image_url is only supported|does not support vision|uploaded an unsupported image/i,
    "llama.cpp with 500, OpenRouter with 404, DeepSeek: the model takes no images; OpenAI, which says server_error too",
  ],
  [
    "format",
    /requires --(jinja|enable-auto-tool-choice)|unsupported param: tools|does not support tools|support (tool use|the provided 'tool_choice')/i,
    "llama.cpp with 500, vLLM, Ollama, OpenRouter with 404: the server cannot call tools",
  ],
  [
    "network",
    /model (has )?crashed|failed to load model|model (is )?unloaded|operation canceled/i,
    "LM Studio with 400",
  ],
  [
    "context_overflow",
    /request too large.{0,300}tokens per min|exceed_context_size|context_length_exceeded|prompt exceeds max length/is,
    "Groq with 413, OpenAI with 429: a limit per minute that this request can never fit; llama.cpp, z.ai",
  ],
  [
    "output_limit",
    /max(_completion|_output|_new)?_tokens\W.{0,60}(too large|above maximum|must be less|maximum value)|range of max_tokens/is,
    "OpenAI, vLLM, Groq, DeepSeek, Alibaba",
  ],
  [
    "rate_limit",
    /throttl|too many requests|rate.?limit|quota.*per (minute|day)|resource.?exhausted|please retry in|usage.?limit|concurrency limit/i,
    "all; Google's tells of billing as well",
  ],
  [
    "billing",
    /insufficient.?(credit|quota|balance|funds)|exceeded your current quota|credit balance|payment required|billing|spending limit|out of credits|(account|credit).{0,40}suspended/i,
    "all",
  ],
  ["image_size", /image.{0,60}(exceeds?\b|too large|dimensions?.{0,20}exceed)|max(imum)? allowed size.*image/is, "all"],
  [
    "context_overflow",
    /prompt is too long|prompt too long|input is too long|exceeds the maximum allowed length|expected maxlength: \d+, actual/i,
    "Anthropic, Bedrock, Ollama, SGLang",
  ],
  [
    "request_size",
    /request_too_large|request (entity|body|payload)? ?(is )?too large|(content|body|payload) (is )?too large|payload size exceeds|exceeds the maximum size|larger than allowed|body (exceeded|larger|limit)|max(imum)? (request|body|payload) size/i,
    "Anthropic, Google, proxies: a limit in bytes, which says nothing about tokens",
  ],
  [
    "context_overflow",
    /context.?(window|length|size|limit)|maximum prompt length|input token count.*exceeds|too many tokens|token limit exceeded|exceeded model token limit|reduce the length of the messages|exceeds the limit of \d+/i,
    "OpenAI, OpenRouter, xAI, Google, Groq, Copilot, Kimi, MiniMax, Mistral, LM Studio, llama.cpp, z.ai",
  ],
  // `reportedText` in `call/refusal.ts` has replaced this text for other providers.
  ["context_overflow", /^\s*4(00|13)\s*(status code)?\s*\(no body\)/i, "Cerebras"],
  [
    "call_ordering",
    /function (call|response) turn comes immediately after|number of function response parts|missing a `?thought_signature/i,
    "Google",
  ],
  [
    "call_ordering",
    /tool_use`? ids (were found without|must be unique)|unexpected `?tool_use_id|multiple `?tool_result`? blocks|each `?tool_use`? (block )?must have/i,
    "Anthropic",
  ],
  [
    "call_ordering",
    /tool_calls'? must be followed by|must be a response to a prece+ding message with|tool_call_id.{0,80}(not found|did not have response)|no tool (call|output) found for function|provided without its required/i,
    "OpenAI, DeepSeek, Kimi",
  ],
  [
    "call_ordering",
    /same number of function calls and responses|unexpected tool call id|(expected|number of) toolresult blocks/i,
    "Mistral, Bedrock",
  ],
  [
    "role_ordering",
    /incorrect role information|roles? (must|should) (alternate|be alternating)|must alternate between|requests (alternate between|end with a user)|unexpected role .{1,20} after|expected last role|(first|last) message must (use|have|be)|conversation must (start|end) with a user/i,
    "Anthropic, Google, Mistral, Bedrock, Perplexity, vLLM",
  ],
  ["thinking_unsupported", THINKING_WORDS, "all"],
  [
    "auth",
    /unauthori[sz]ed|unauthenticated|api.?key.{0,12}(not (valid|found)|invalid|expired|missing)|(invalid|incorrect|no|missing) api.?key|invalid.{0,20}\b(auth|access|bearer|x-api)|invalid_grant|authentication|access.?denied|(expired|security|oauth) ?token|token (has )?(expired|been (revoked|invalidated))|load credentials|organization has been disabled/i,
    "all",
  ],
  [
    "model_missing",
    /model(?:[^.]|\.(?=\S)){0,120}(not.found|does not exist|not exist|decommissioned|deprecated|identifier is invalid|not have access)|access to (the )?model|unknown model|(invalid|not a valid) model|no endpoints found|no models? loaded|is not found for api version|on-demand throughput/i,
    "all",
  ],
  ["auth", /permission.?(denied|error)|forbidden/i, "all; a model's own denial is above"],
  [
    "loading",
    /loading model|model\b.{0,90}? is (currently )?loading|model.?not.?ready/i,
    "llama.cpp, TGI, Hugging Face",
  ],
  [
    "overloaded",
    /overloaded|service.?unavailable|capacity|temporarily unavailable|slow_down|"?status"?: ?"?unavailable/i,
    "all",
  ],
  [
    "cut_off",
    /unexpected (token|non-whitespace|event order)|is not valid json|could not parse|json (at position|input)|bad control character|malformed (json|stream|response)|(ended|closed) before|premature close|without a finish|unexpected end of|before the answer was finished/i,
    "a stream that stops early",
  ],
  ["timeout", /timed? ?out|deadline.?exceeded/i, "all"],
  [
    "refusal",
    /\brefus(ed|al)\b|content.?(policy|filter|management)|usage polic|guardrail|blocked by|flagged|prohibited_content|blocklist|spii|recitation|data_inspection|sensitive|moderation.?blocked|\b(image_)?safety\b/i,
    "all",
  ],
  [
    "network",
    /connection (error|broke|lost|closed|reset)|econn|epipe|enotfound|eai_again|ehost|enet|getaddrinfo|certificate|socket|network|terminated|^aborted\b|other side closed|fetch failed|bad gateway|internal.?server.?error|server_error|api_error/i,
    "all",
  ],
  [
    "image_broken",
    /(unsupported|invalid|corrupt(ed)?|unknown|unreadable|broken)[ _]image|(could not|cannot|can't|unable to|failed to) (process|decode|load|read|identify|parse|open)( the| your| an?| this| input| provided){0,3} image|image.{0,30}(not (a )?valid|appears to be|corrupt|unknown format)|not represent a valid image|image file is truncated|broken data stream when reading image|unsupported mime type:? ?.?image/i,
    "all",
    OF_THE_REQUEST,
  ],
  ["image_broken", /failed to load image or audio file/i, "Ollama, which answers 500"],
  // OpenAI calls every refusal an invalid request, so a status that says more takes precedence.
  ["format", /tool_use|tool_result|invalid.?(request|argument|prompt|params)|validation/i, "all", OF_THE_REQUEST],
];
