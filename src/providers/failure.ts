import type { Failure, FailureKind } from "../types/run.ts";

/** What providers say when a call fails: first match wins, so the narrow words stand above the wide ones. */
export const FAILURE_WORDS: readonly (readonly [FailureKind, RegExp, string])[] = [
  ["rate_limit", /throttl|too many requests|rate.?limit|\b429\b|quota.*per (minute|day)|resource.?exhausted/i, "all"],
  ["billing", /insufficient.?(credit|quota|balance|funds)|credit balance|payment required|\b402\b|billing/i, "all"],
  [
    "context_overflow",
    /prompt is too long|request_too_large|context.?(window|length)|maximum prompt length|input token count.*exceeds|too many tokens|reduce the length of the messages|exceeds the limit of \d+/i,
    "all",
  ],
  ["image_size", /image (exceeds|dimensions? exceed)|image.*too large|max(imum)? allowed size.*image/i, "Anthropic"],
  [
    "thinking_unsupported",
    /(thinking|reasoning)[^.]*(not supported|unsupported|invalid|must be)|unsupported.*reasoning/i,
    "all",
  ],
  ["auth", /\b40[13]\b|unauthori[sz]ed|invalid.*(api.?key|token)|authentication|permission.?denied|no api key/i, "all"],
  ["model_missing", /\b404\b|model.*(not found|does not exist|not exist)|unknown model/i, "all"],
  ["overloaded", /overloaded|\b(529|503)\b|service unavailable|capacity|temporarily unavailable/i, "Anthropic, Google"],
  ["timeout", /timed? ?out|deadline exceeded|\b(408|504)\b/i, "all"],
  ["refusal", /\brefus(ed|al)\b|content.?(policy|filter)|safety/i, "all"],
  [
    "network",
    /connection error|econn|enotfound|eai_again|socket|network|terminated|fetch failed|\b(500|502)\b/i,
    "all",
  ],
  ["format", /roles must alternate|incorrect role|tool_use|tool_result|invalid.?request|\b4(00|22)\b/i, "all"],
];

const RETRY_AFTER = /retry.?after["':\s]+(\d+(?:\.\d+)?)\s*(ms|s\b|second)?/i;

/** Names a provider's error text. Seconds unless the text says ms. */
export function classifyFailure(text: string): Failure {
  const message = text.trim() === "" ? "The model ended without an answer." : clip(text);
  const kind = FAILURE_WORDS.find(([, words]) => words.test(text))?.[0] ?? "unknown";
  const wait = RETRY_AFTER.exec(text);
  if (!wait?.[1]) return { kind, message };
  return { kind, message, retryAfterMs: Math.round(Number(wait[1]) * (wait[2] === "ms" ? 1 : 1000)) };
}

const KEY_LIKE = /\b(sk|pk|key|AIza|xox[abp]|ghp)[-_][\w-]{8,}\b/g;

/** Error texts may quote the request: cut short, and anything that looks like a key is masked. */
function clip(text: string): string {
  const flat = text.replace(/\s+/g, " ").trim().replace(KEY_LIKE, "[secret]");
  return flat.length > 400 ? `${flat.slice(0, 400)}…` : flat;
}
