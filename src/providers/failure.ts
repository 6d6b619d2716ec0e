import type { Failure, FailureKind } from "../types/run.ts";
import { Secret } from "../types/secret.ts";
import { durationMs } from "./call/waits.ts";

/** Some words name a fault of the request only where the provider puts the blame there too. */
const OF_THE_REQUEST = [400, 415, 422];

/**
 * What providers say when a call fails, who says it, and with which status alone that counts: first match wins, so the
 * narrow words stand above the wide ones.
 */
export const FAILURE_WORDS: readonly (readonly [FailureKind, RegExp, string, (readonly number[])?])[] = [
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
    /prompt is too long|prompt too long|input is too long|request_too_large|request entity too large|payload (size exceeds|too large)|exceeds the maximum size/i,
    "Anthropic, Bedrock, Ollama, Google, proxies",
  ],
  [
    "context_overflow",
    /context.?(window|length|size|limit)|maximum prompt length|input token count.*exceeds|too many tokens|token limit exceeded|exceeded model token limit|reduce the length of the messages|exceeds the limit of \d+/i,
    "OpenAI, OpenRouter, xAI, Google, Groq, Copilot, Kimi, MiniMax, Mistral, LM Studio, llama.cpp, z.ai",
  ],
  ["context_overflow", /^4(00|13)\s*(status code)?\s*\(no body\)/i, "Cerebras"],
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
  [
    "thinking_unsupported",
    /(thinking|reasoning)[^.]*(not support|unsupported|invalid|must be|must start)|(unsupported|unrecognized|does not support|invalid).*(reasoning|thinking)|budget_tokens/i,
    "all",
  ],
  [
    "auth",
    /unauthori[sz]ed|unauthenticated|api.?key.{0,12}(not valid|invalid|expired|missing)|(invalid|incorrect|no|missing) api.?key|invalid.{0,20}\b(auth|access|bearer|x-api)|invalid_grant|authentication|access.?denied|(expired|security|oauth) ?token|token (has )?(expired|been (revoked|invalidated))|load credentials|organization has been disabled/i,
    "all",
  ],
  [
    "model_missing",
    /model[^.]{0,120}(not found|does not exist|not exist|decommissioned|deprecated|identifier is invalid|not have access)|access to (the )?model|unknown model|(invalid|not a valid) model|no endpoints found|no models? loaded|is not found for api version|on-demand throughput/i,
    "all",
  ],
  ["auth", /permission.?(denied|error)|forbidden/i, "all; a model's own denial is above"],
  ["loading", /loading model|model is (currently )?loading|model.?not.?ready/i, "llama.cpp, TGI, Hugging Face"],
  ["output_limit", /max(_completion|_output)?_tokens\W.{0,40}too large/i, "OpenAI, vLLM"],
  [
    "overloaded",
    /overloaded|service.?unavailable|capacity|temporarily unavailable|slow_down|"?status"?: ?"?unavailable/i,
    "all",
  ],
  [
    "cut_off",
    /(ended|closed) before|premature close|without a finish|unexpected end of|before the answer was finished/i,
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
  ["format", /tool_use|tool_result|invalid.?(request|argument|prompt|params)|validation/i, "all"],
];

/** What a bare status means; a text that says more goes first. */
const STATUS_KINDS: Readonly<Record<number, FailureKind>> = {
  400: "format",
  401: "auth",
  402: "billing",
  403: "auth",
  404: "model_missing",
  405: "format",
  408: "timeout",
  413: "context_overflow",
  415: "format",
  422: "format",
  429: "rate_limit",
  500: "network",
  502: "network",
  503: "overloaded",
  504: "timeout",
  520: "network",
  521: "network",
  522: "timeout",
  523: "network",
  524: "timeout",
  529: "overloaded",
};

/** Names a provider's error by its words, else by its status. A wait is taken from `facts`, else from the text. */
export function classifyFailure(text: string, facts: { status?: number; retryAfterMs?: number } = {}): Failure {
  // An answer that began well may still fail, and then its text says with what.
  const status = isFine(facts.status) ? (statusIn(text) ?? facts.status) : facts.status;
  const kind = kindOf(text, status);
  const retryAfterMs = facts.retryAfterMs ?? waitIn(text);
  return { kind, message: messageOf(text, kind, status), ...(retryAfterMs !== undefined && { retryAfterMs }) };
}

const isFine = (status: number | undefined): boolean => status === undefined || status < 400;

function kindOf(text: string, status: number | undefined): FailureKind {
  const [kind] = FAILURE_WORDS.find(([, words, , only]) => counts(only, status) && words.test(text)) ?? [];
  const byStatus = status === undefined ? undefined : STATUS_KINDS[status];
  // Whatever else a 402 or a 429 says, trying again at once does not help.
  if (status === 402) return "billing";
  if (status === 429 && kind !== "billing") return "rate_limit";
  return kind ?? byStatus ?? "unknown";
}

const counts = (only: readonly number[] | undefined, status: number | undefined): boolean =>
  only === undefined || status === undefined || isFine(status) || only.includes(status);

/** The SDKs put the status in front, or quote a body that has it. */
function statusIn(text: string): number | undefined {
  const found =
    /^(?:error:? )?(\d{3})\b/i.exec(text.trim()) ??
    /(?:\bstatus(?: code)?|"code"|http|error) ?[:( ] ?"?([45]\d\d)\b/i.exec(text);
  return found ? Number(found[1]) : undefined;
}

function messageOf(text: string, kind: FailureKind, status: number | undefined): string {
  if (text.trim() === "") return status === undefined ? NO_ANSWER : `The provider answered ${status}.`;
  const isPath = status === 404 && kind === "model_missing" && !/model|endpoints/i.test(text);
  return clip(text) + (isPath ? " (no such path: is the provider's baseUrl right?)" : "");
}

const NO_ANSWER = "The model ended without an answer.";

const ASKED_WAIT =
  /(?:retry.?after|retry in|try again in|retrydelay|resets_in_seconds)(?<ms>[_-]ms)?["':=\s~]+(?<wait>(?:\d+(?:\.\d+)?\s*(?:ms|milliseconds?|d(?:ays?)?|h(?:ours?)?|m(?:in(?:ute)?s?)?|s(?:ec(?:ond)?s?)?)?(?![a-z])[\s,]*)+)/i;
const RESET_AT = /ratelimit-reset["':\s]+(\d{13})\b/i;

/** Milliseconds that a text asks to wait; a number without a unit is seconds. */
export function waitIn(text: string): number | undefined {
  const { ms, wait } = ASKED_WAIT.exec(text)?.groups ?? {};
  if (wait !== undefined) return durationMs(ms === undefined ? wait : `${wait.trim()}ms`);
  const at = RESET_AT.exec(text)?.[1];
  return at === undefined ? undefined : Math.max(0, Number(at) - Date.now());
}

/** Bounds of an image, as an error tells them. */
export interface ImageSize {
  readonly maxBytes?: number;
  readonly maxDimensionPx?: number;
}

const MAX_BYTES = /(?:max\w*|limit|exceeds?|larger than|under|below)\D{0,40}?(\d+(?:\.\d+)?)\s*(bytes|[kmg]i?b)\b/i;
const MAX_PIXELS =
  /(?:max\w*|limit|exceeds?|larger than|under|below)\D{0,80}?(\d{3,5})(?:\s*[x×]\s*(\d{3,5}))?\s*(?:pixels|px)/i;
const UNIT_BYTES: Readonly<Record<string, number>> = {
  bytes: 1,
  kb: 1e3,
  kib: 1024,
  mb: 1e6,
  mib: 1024 ** 2,
  gb: 1e9,
  gib: 1024 ** 3,
};

/** How large an image may be, from a provider's refusal; undefined when it is about something else. */
export function parseImageSize(text: string): ImageSize | undefined {
  if (!/image/i.test(text)) return undefined;
  const maxBytes = bytesIn(text);
  const [, width, height] = MAX_PIXELS.exec(text) ?? [];
  const maxDimensionPx = width === undefined ? undefined : Math.min(Number(width), Number(height ?? width));
  if (maxBytes === undefined && maxDimensionPx === undefined) return undefined;
  return { ...(maxBytes !== undefined && { maxBytes }), ...(maxDimensionPx !== undefined && { maxDimensionPx }) };
}

/** Anthropic rounds to megabytes and then gives the exact bound. */
function bytesIn(text: string): number | undefined {
  const exact = /\d bytes? > (\d+) bytes?/i.exec(text)?.[1];
  if (exact !== undefined) return Number(exact);
  const [, amount, unit] = MAX_BYTES.exec(text) ?? [];
  return amount === undefined ? undefined : Math.floor(Number(amount) * (UNIT_BYTES[unit?.toLowerCase() ?? ""] ?? 1));
}

const KEY_LIKE =
  /\b(?:(?:sk|pk|rk|key|xox[abp]|gh[posur]|glpat|hf|gsk)[-_][\w-]{8,}|AIza[\w-]{20,}|\d{8,10}:[\w-]{35})/g;

/** Error texts may quote the request: cut short, and anything that looks like a key is masked. */
function clip(text: string): string {
  const flat = Secret.mask(text).replace(/\s+/g, " ").trim().replace(KEY_LIKE, "[secret]");
  return flat.length > 400 ? `${flat.slice(0, 400)}…` : flat;
}
