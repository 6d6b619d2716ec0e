import type { Failure } from "../../types/run/run.ts";
import type { Refusal } from "./body.ts";

/** Tokens that a refusal names. */
interface Figures {
  /** The most that one request may have. */
  readonly limit?: number;
  /** This request's tokens: its input and the requested answer. */
  readonly total?: number;
  /** Tokens of its input. */
  readonly input?: number;
  /** Tokens requested for the answer. */
  readonly output?: number;
  /** The most that an answer may have. */
  readonly most?: number;
}

/** Which text names which figure. The first match counts. The tests have a real text for each row. */
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
export function tokenFailure(
  words: string,
  refusal: Refusal | undefined,
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

function figuresOf(words: string, refusal: Refusal | undefined): Figures | undefined {
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
