import type { Failure, FailureKind } from "../types/run.ts";

/** What providers say when a call fails: first match wins, so the narrow words stand above the wide ones. */
export const FAILURE_WORDS: readonly (readonly [FailureKind, RegExp, string])[] = [
  [
    "rate_limit",
    /throttl|too many requests|rate.?limit|quota.*per (minute|day)|resource.?exhausted|please retry in|try again in [\d.]+ ?m?s/i,
    "all; Google's tells of billing as well",
  ],
  [
    "billing",
    /insufficient.?(credit|quota|balance|funds)|exceeded your current quota|credit balance|payment required|\b402\b|billing/i,
    "all",
  ],
  [
    "context_overflow",
    /prompt is too long|input is too long|request_too_large|context.?(window|length|size)|maximum prompt length|input token count.*exceeds|too many tokens|reduce the length of the messages|exceeds the limit of \d+/i,
    "all",
  ],
  ["image_size", /image (exceeds|dimensions? exceed)|image.*too large|max(imum)? allowed size.*image/i, "Anthropic"],
  [
    "thinking_unsupported",
    /(thinking|reasoning)[^.]*(not supported|unsupported|invalid|must be)|(unsupported|unrecognized|does not support).*(reasoning|thinking)/i,
    "all",
  ],
  ["rate_limit", /\b429\b/, "all"],
  [
    "auth",
    /\b40[13]\b|unauthori[sz]ed|api.?key (is )?(not valid|invalid|expired)|(invalid|incorrect|no) api.?key|invalid.{0,20}\b(auth|access|bearer|x-api)|authentication|permission.?denied/i,
    "all",
  ],
  [
    "model_missing",
    /\b404\b|model.*(not found|does not exist|not exist)|unknown model|(invalid|not a valid) model/i,
    "all",
  ],
  ["overloaded", /overloaded|\b(529|503)\b|service unavailable|capacity|temporarily unavailable/i, "Anthropic, Google"],
  ["timeout", /timed? ?out|deadline exceeded|\b(408|504)\b/i, "all"],
  ["refusal", /\brefus(ed|al)\b|content.?(policy|filter)|safety/i, "all"],
  ["cut_off", /ended before|premature close|without (a )?finish|unexpected end of/i, "a stream that stops early"],
  [
    "network",
    /connection error|econn|enotfound|eai_again|socket|network|terminated|other side closed|fetch failed|\b(500|502)\b/i,
    "all",
  ],
  ["format", /roles must alternate|incorrect role|tool_use|tool_result|invalid.?request|\b4(00|22)\b/i, "all"],
];

const RETRY_AFTER = /(?:retry.?after|retry in|try again in)["':\s]+(?:(\d+)m(?!s))?(?:(\d+(?:\.\d+)?)\s*(ms)?)?/i;

/** Names a provider's error text. Seconds unless the text says ms. */
export function classifyFailure(text: string): Failure {
  const message = text.trim() === "" ? "The model ended without an answer." : clip(text);
  const kind = FAILURE_WORDS.find(([, words]) => words.test(text))?.[0] ?? "unknown";
  const retryAfterMs = waitIn(text);
  return { kind, message, ...(retryAfterMs !== undefined && { retryAfterMs }) };
}

/** Milliseconds that a text asks to wait. */
function waitIn(text: string): number | undefined {
  const [, minutes, amount, unit] = RETRY_AFTER.exec(text) ?? [];
  if (minutes === undefined && amount === undefined) return undefined;
  return Math.round(Number(minutes ?? 0) * 60_000 + Number(amount ?? 0) * (unit === undefined ? 1000 : 1));
}

const KEY_LIKE =
  /\b(?:(?:sk|pk|rk|key|xox[abp]|gh[posur]|glpat|hf|gsk)[-_][\w-]{8,}|AIza[\w-]{20,}|\d{8,10}:[\w-]{35})/g;

/** Error texts may quote the request: cut short, and anything that looks like a key is masked. */
function clip(text: string): string {
  const flat = text.replace(/\s+/g, " ").trim().replace(KEY_LIKE, "[secret]");
  return flat.length > 400 ? `${flat.slice(0, 400)}…` : flat;
}

/** Shorter keys are words of a local server's choice, such as `x`; taking them out would only garble the text. */
const LEAST_KEY = 8;

/** Providers quote the key that they refuse: the text without it. */
export function withoutKey(text: string, apiKey: string): string {
  return apiKey.length < LEAST_KEY ? text : text.replaceAll(apiKey, "[secret]");
}
