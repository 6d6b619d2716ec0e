import type { Failure, FailureKind } from "../types/run/run.ts";
import { Secret } from "../types/secret.ts";
import { defined } from "../utils/defined.ts";
import { durationMs } from "./call/waits.ts";
import type { Refusal } from "./failure/body.ts";
import { tokenFailure } from "./failure/limits.ts";
import { FAILURE_WORDS, OF_THE_REQUEST } from "./failure/words.ts";

/** The kind for a status without a text. A text that says more takes precedence. */
const STATUS_KINDS: Readonly<Record<number, FailureKind>> = {
  400: "format",
  401: "auth",
  402: "billing",
  403: "auth",
  404: "model_missing",
  405: "format",
  408: "timeout",
  413: "request_size",
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

/** Facts about a failed call, in addition to the SDK's text. */
export interface FailureFacts {
  /** The kind, if it is known without the text. */
  readonly kind?: FailureKind;
  readonly status?: number;
  readonly retryAfterMs?: number;
  /** The provider's own error. */
  readonly refusal?: Refusal;
  /** Tokens that were requested for the answer. */
  readonly maxOutput?: number;
  /** Bytes of the request. */
  readonly requestBytes?: number;
}

/**
 * Finds the kind of a provider's error from its status, the code and type in its body, and its text without web addresses. The
 * time to wait comes from `facts`, or else from the text.
 */
export function classifyFailure(text: string, facts: FailureFacts = {}): Failure {
  const { kind, refusal, maxOutput } = facts;
  if (kind !== undefined) return { kind, message: clip(text), ...defined({ retryAfterMs: facts.retryAfterMs }) };
  const status = statusOf(text, facts);
  const words = isAboutRequest(status) ? withoutQuotes(wordsIn(text, refusal)) : wordsIn(text, refusal);
  const failure = tokenFailure(words, refusal, maxOutput) ?? withLimit(kindOf(words, status), maxOutput);
  const retryAfterMs = facts.retryAfterMs ?? waitIn(text);
  const requestBytes = failure.kind === "request_size" ? facts.requestBytes : undefined;
  return { ...failure, message: messageOf(text, failure.kind, status), ...defined({ retryAfterMs, requestBytes }) };
}

/** An answer that began well may still fail; then its text says why. */
function statusOf(text: string, { status, refusal }: FailureFacts): number | undefined {
  return isFine(status) ? (refusal?.status ?? statusIn(text) ?? status) : status;
}

function wordsIn(text: string, refusal: Refusal | undefined): string {
  const parts = refusal === undefined ? [text] : [...refusal.names, refusal.message, text];
  const said = parts.filter((part) => part !== "").join("\n");
  return said.replace(ADDRESS, " ").slice(0, READ);
}

/** Whether a status says that something is wrong with this one request. */
const isAboutRequest = (status: number | undefined): boolean => status !== undefined && OF_THE_REQUEST.includes(status);

/** A refusal of a request may quote it. What a person wrote about keys or bills must not start a cooldown for everybody. */
const withoutQuotes = (text: string): string => text.replace(QUOTED, "…");
/** A long text in quotation marks that is no sentence of the provider: what has the member `message` before it, stays. */
const QUOTED = /(?<!\w|"(?:message|msg|detail|error|raw)"\s*:\s*)(["'`])(?:(?!\1)[^\\]|\\.){60,}\1(?!\w)/gs;

/** The new limit of the answer when the refusal names none: half of the requested tokens. */
const withLimit = (
  kind: FailureKind,
  maxOutput = UNKNOWN_OUTPUT,
): Pick<Failure, "kind" | "maxOutputTokens" | "isOfRequest"> =>
  kind === "output_limit" ? { kind, maxOutputTokens: Math.floor(maxOutput / 2), isOfRequest: true } : { kind };

/** A word in a web address, such as `…/settings/billing`, says nothing about the failure. */
const ADDRESS = /\bhttps?:\/\/[^\s"'<>)\]]+/gi;
/** Characters of a text that are read. Refusals are short. */
const READ = 20_000;
/** Tokens that are assumed to be requested when that is not known. */
const UNKNOWN_OUTPUT = 8192;

const isFine = (status: number | undefined): boolean => status === undefined || status < 400;

function kindOf(text: string, status: number | undefined): FailureKind {
  const row = FAILURE_WORDS.find(([, words, , only]) => counts(only, status) && words.test(text));
  const kind = row?.[0];
  const byStatus = status === undefined ? undefined : STATUS_KINDS[status];
  if (status === 402) return "billing";
  // However the page of a proxy is worded, a request that is too large says nothing about a key or a server.
  if (status === 413 && (kind === undefined || !ABOUT_SIZE.has(kind))) return "request_size";
  // Whatever else a 402 or a 429 says, an immediate retry does not help.
  if (status === 429 && kind !== "billing" && !TOO_LARGE.test(text)) return "rate_limit";
  return kind ?? byStatus ?? "unknown";
}

const TOO_LARGE = /request too large/i;
const ABOUT_SIZE: ReadonlySet<FailureKind> = new Set(["context_overflow", "output_limit", "image_size"]);

const counts = (only: readonly number[] | undefined, status: number | undefined): boolean =>
  only === undefined || status === undefined || isFine(status) || only.includes(status);

/** The SDKs put the status before the text, or quote a body that contains it. */
function statusIn(text: string): number | undefined {
  const found =
    /^(?:error:? )?(\d{3})\b/i.exec(text.trim()) ??
    /(?:\bstatus(?: code)?|"code"|http|error) ?[:( ] ?"?([45]\d\d)\b/i.exec(text);
  return found ? Number(found[1]) : undefined;
}

function messageOf(text: string, kind: FailureKind, status: number | undefined): string {
  if (text.trim() === "") return isFine(status) ? NO_ANSWER : `The provider answered ${status}.`;
  const isPath = status === 404 && kind === "model_missing" && !/model|endpoints/i.test(text);
  return clip(text) + (isPath ? " (no such path: is the provider's baseUrl right?)" : "");
}

const NO_ANSWER = "The model ended without an answer.";

const ASKED_WAIT =
  /(?:retry.?after|retry in|try again in|retrydelay|resets_in_seconds)(?<ms>[_-]ms)?["':=\s~]+(?<wait>(?:\d+(?:\.\d+)?\s*(?:ms|milliseconds?|d(?:ays?)?|h(?:ours?)?|m(?:in(?:ute)?s?)?|s(?:ec(?:ond)?s?)?)?(?![a-z])[\s,]*)+)/i;
const RESET_AT = /ratelimit-reset["':\s]+(\d{13})\b/i;

/** Milliseconds that a text asks to wait. A number without a unit means seconds. */
export function waitIn(text: string): number | undefined {
  const { ms, wait } = ASKED_WAIT.exec(text)?.groups ?? {};
  if (wait !== undefined) return durationMs(ms === undefined ? wait : `${wait.trim()}ms`);
  const at = RESET_AT.exec(text)?.[1];
  return at === undefined ? undefined : Math.max(0, Number(at) - Date.now());
}

/** The limits of an image that an error names. */
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

/** The largest size of an image, from a provider's refusal. Undefined when the refusal has another reason. */
export function parseImageSize(text: string): ImageSize | undefined {
  if (!/image/i.test(text)) return undefined;
  const maxBytes = bytesIn(text);
  const [, width, height] = MAX_PIXELS.exec(text) ?? [];
  const maxDimensionPx = width === undefined ? undefined : Math.min(Number(width), Number(height ?? width));
  if (maxBytes === undefined && maxDimensionPx === undefined) return undefined;
  return { ...(maxBytes !== undefined && { maxBytes }), ...(maxDimensionPx !== undefined && { maxDimensionPx }) };
}

/** Anthropic rounds to megabytes and then adds the exact limit. */
function bytesIn(text: string): number | undefined {
  const exact = /\d bytes? > (\d+) bytes?/i.exec(text)?.[1];
  if (exact !== undefined) return Number(exact);
  const [, amount, unit] = MAX_BYTES.exec(text) ?? [];
  return amount === undefined ? undefined : Math.floor(Number(amount) * (UNIT_BYTES[unit?.toLowerCase() ?? ""] ?? 1));
}

const KEY_LIKE =
  /\b(?:(?:sk|pk|rk|key|xox[abp]|gh[posur]|glpat|hf|gsk)[-_][\w-]{8,}|AIza[\w-]{20,}|\d{8,10}:[\w-]{35})/g;

/** Error texts may quote the request, so they are shortened, and anything that looks like a key is masked. */
function clip(text: string): string {
  const flat = Secret.mask(text).replace(/\s+/g, " ").trim().replace(KEY_LIKE, "[secret]");
  return flat.length > 400 ? `${flat.slice(0, 400)}…` : flat;
}
