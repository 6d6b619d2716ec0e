import type { Failure, FailureKind } from "../types/run/run.ts";
import { Secret } from "../types/secret.ts";
import { defined } from "../utils/defined.ts";
import { durationMs } from "./waits.ts";
import type { RefusalBody } from "./failure/body.ts";
import { FAILURE_WORDS, OF_THE_REQUEST, WEB_PAGE } from "./failure/words.ts";

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

/** The kind of an answer with this status and no text. */
export const kindOfStatus = (status: number): FailureKind =>
  STATUS_KINDS[status] ?? (status >= 500 ? "network" : "unknown");

/** Facts about a failed call, in addition to the SDK's text. */
export interface FailureFacts {
  /** The kind, if it is known without the text. */
  readonly kind?: FailureKind;
  readonly status?: number;
  readonly retryAfterMs?: number;
  /** The provider's own error. */
  readonly refusal?: RefusalBody;
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

function wordsIn(text: string, refusal: RefusalBody | undefined): string {
  const parts = refusal === undefined ? [text] : [...refusal.names, refusal.message, text];
  const said = parts.filter((part) => part !== "").join("\n");
  return said.replace(ADDRESS, " ").slice(0, READ);
}

/** Whether a status says that something is wrong with this one request. */
const isAboutRequest = (status: number | undefined): boolean => status !== undefined && OF_THE_REQUEST.includes(status);

/** A refusal of a request may quote it. A person's text about keys or bills must not start a cooldown for everybody. */
const withoutQuotes = (text: string): string => text.replace(QUOTED, "…");
/** A long text in quotation marks that is no sentence of the provider: a text after the member `message` stays. */
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
  return clip(text) + (isPath ? NO_SUCH_PATH : "");
}

const NO_SUCH_PATH = " (no such path: is the provider's baseUrl right?)";

/** Whether the message of a failure says that the server has no such path. */
export const isNoSuchPath = (message: string): boolean => message.endsWith(NO_SUCH_PATH);

/** Whether the message of a failure says that a web page came in place of an answer. */
export const isWebPage = (message: string): boolean => WEB_PAGE.test(message);

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

/** Error texts may quote the request, so `clip` shortens them and masks anything that looks like a key. */
function clip(text: string): string {
  const flat = Secret.mask(text).replace(/\s+/g, " ").trim().replace(KEY_LIKE, "[secret]");
  return flat.length > 400 ? `${flat.slice(0, 400)}…` : flat;
}

/** Tokens that a refusal names. */
interface Figures {
  /** The most that one request may have. */
  readonly limit?: number;
  /** Tokens of this request: its input and the requested answer. */
  readonly total?: number;
  /** Tokens of the request's input. */
  readonly input?: number;
  /** Tokens requested for the answer. */
  readonly output?: number;
  /** The most that an answer may have. */
  readonly most?: number;
}

/** Texts of refusals with their figures. The first match counts. The tests have a real text for each row. */
const FIGURES: readonly RegExp[] = [
  // Only the limit of the answer.
  /max_(?:completion_|output_)?tokens is too large: (?<output>\d+)\. This model supports at most (?<most>\d+)/i,
  /max_tokens: (?<output>\d+) > (?<most>\d+), which is the maximum allowed number of output tokens/i,
  /(?:valid )?range of max_tokens (?:is|should be) \[\d+, ?(?<most>\d+)\]/i,
  /max_(?:completion_|output_)?tokens`? must be less than or equal to `?(?<most>\d+)/i,
  /maximum tokens you requested exceeds the model limit of (?<most>\d+)/i,
  // Input and answer together.
  /too large: (?<output>\d+)\. This model's maximum context length is (?<limit>\d+) tokens and your request has (?<input>\d+) input/i,
  /maximum context length is (?<limit>\d+) tokens\. However, you requested (?:about )?(?<total>\d+) tokens \((?<input>\d+) (?:in the messages|of text input)[^)]{0,40}?(?<output>\d+) in the (?:completion|output)/i,
  /maximum context length is (?<limit>\d+) tokens\. However, you requested (?<output>\d+) output tokens and your prompt contains (?:at least )?\d+/i,
  /exceed context limit: (?<input>\d+) \+ (?<output>\d+) > (?<limit>\d+)/i,
  /`?inputs`? tokens \+ `?max_new_tokens`? must be <= (?<limit>\d+)\. Given: (?<input>\d+) `?inputs`? tokens and (?<output>\d+)/i,
  /request too large[^]{0,300}?limit:? (?<limit>\d+),? requested:? (?<total>\d+)/i,
  // Only the input.
  /prompt is too long: (?<input>\d+) tokens > (?<limit>\d+)/i,
  /prompt is too long: (?<input>\d+), model maximum context length: (?<limit>\d+)/i,
  /input token count \(?(?<input>\d+)\)? exceeds the maximum number of tokens allowed \(?(?<limit>\d+)/i,
  /request \((?<input>\d+) tokens\) exceeds the available context size \((?<limit>\d+)/i,
  /keep the first (?<input>\d+) tokens[^]{0,120}?context length of only (?<limit>\d+)/i,
  /n_keep: (?<input>\d+) >= n_ctx: (?<limit>\d+)/i,
  /maximum prompt length is (?<limit>\d+) but the request contains (?<input>\d+)/i,
  /model token limit: (?<limit>\d+) \(requested: (?<input>\d+)/i,
  /prompt contains (?<input>\d+) tokens[^]{0,60}?model with (?<limit>\d+) maximum context/i,
  /token count of (?<input>\d+) exceeds the limit of (?<limit>\d+)/i,
  /`?inputs`? must have less than (?<limit>\d+) tokens\. Given: (?<input>\d+)/i,
  /current length is (?<input>\d+) while limit is (?<limit>\d+)/i,
  /the input \((?<input>\d+) tokens\) is longer than the model's context length \((?<limit>\d+)/i,
  /input length \((?<input>\d+) tokens\) exceeds the maximum allowed length \((?<limit>\d+)/i,
  /input length \(?(?<input>\d+)\)?[^]{0,60}?context length \(?(?<limit>\d+)/i,
  /cannot exceed (?<limit>\d+) - received (?<input>\d+)/i,
  /range of input length should be \[\d+, ?(?<limit>\d+)\]/i,
  /maximum context length (?:is|of) (?<limit>\d+)(?: tokens)?[^]{0,80}?(?:resulted in|contains)(?: about)? (?<input>\d+)/i,
  /maximum context length (?:is|of) (?<limit>\d+)(?: tokens)?[^]{0,80}?requested (?:about )?(?<total>\d+)/i,
  /maximum context length (?:is|of) (?<limit>\d+)/i,
];

type TokenFailure = Pick<Failure, "kind" | "limitTokens" | "requestedTokens" | "maxOutputTokens" | "isOfRequest">;

/** Tokens of the shortest answer that is worth a request. */
const LEAST_ANSWER = 512;

/**
 * A refusal because of the number of tokens: what does not fit, with the provider's figures. Undefined when the text has no
 * figures. If the input alone would fit, only the limit of the answer must become smaller, and the conversation can stay.
 */
function tokenFailure(
  words: string,
  refusal: RefusalBody | undefined,
  asked: number | undefined,
): TokenFailure | undefined {
  const figures = figuresOf(words, refusal);
  if (figures === undefined) return undefined;
  const { limit, most, output = 0 } = figures;
  if (most !== undefined && most < LEAST_ANSWER) return undefined;
  if (most !== undefined) return { kind: "output_limit", maxOutputTokens: most };
  if (limit === undefined) return undefined;
  const input = figures.input ?? inputOf(figures, asked);
  const requested = figures.total ?? (input === undefined ? undefined : input + output);
  const tokens = { limitTokens: limit, ...(requested !== undefined && { requestedTokens: requested }) };
  const answerTokens = answerLimit(input, limit, figures);
  return answerTokens === undefined
    ? { kind: "context_overflow", ...tokens }
    : { kind: "output_limit", ...tokens, maxOutputTokens: answerTokens };
}

/** A limit per minute counts the limit of the answer too, which the refusal does not name. `asked` is that of this request. */
function inputOf({ total }: Figures, asked: number | undefined): number | undefined {
  return total === undefined || asked === undefined || total <= asked ? undefined : total - asked;
}

/** Tokens left for an answer to this input; undefined when they are too few. */
function answerLimit(input: number | undefined, limit: number, { output = 0 }: Figures): number | undefined {
  // vLLM counts only up to its limit and does not report how long the input is.
  if (input === undefined) return output > limit / 4 ? Math.floor(output / 4) : undefined;
  const left = limit - input;
  return left >= Math.max(LEAST_ANSWER, limit / 16) ? left : undefined;
}

function figuresOf(words: string, refusal: RefusalBody | undefined): Figures | undefined {
  // llama.cpp: https://github.com/ggml-org/llama.cpp/pull/15780
  const { n_ctx: limit, n_prompt_tokens: requested } = refusal?.figures ?? {};
  if (limit !== undefined) return { limit, ...(requested !== undefined && { input: requested }) };
  const text = words.replace(/(\d)[,_](?=\d{3}\b)/g, "$1");
  const groups = FIGURES.map((row) => row.exec(text)?.groups).find((found) => found !== undefined);
  if (groups === undefined) return undefined;
  return Object.fromEntries(
    Object.entries(groups).flatMap(([name, value]) => (value === undefined ? [] : [[name, Number(value)]])),
  );
}
