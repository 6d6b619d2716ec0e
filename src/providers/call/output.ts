import { estimateAll, estimatePromptTokens, estimateToolTokens } from "../../sessions/transcript/tokens.ts";
import type { PiContext, PiModel } from "../pi.ts";

/** Tokens. The SDK requests no more either. */
const MOST = 32_000;
/** The fewest tokens that are requested. The server decides whether they fit. */
const LEAST = 512;
/** Estimates can be a fifth too low, and the model's own template adds tokens. */
const SHORT_BY = 1.2;

/**
 * The tokens that the answer may have: `wanted`, else the model's own limit, and no more than fit into its window. Some servers
 * (vLLM, Anthropic) refuse a request whose input and answer together could exceed the window. `input`: estimated tokens of the
 * request. Undefined when neither is known.
 */
export function outputFor(pi: PiModel, input: number, wanted: number | undefined): number | undefined {
  const most = wanted ?? (pi.maxTokens > 0 ? Math.min(pi.maxTokens, MOST) : undefined);
  if (most === undefined) return undefined;
  const left = Math.floor(pi.contextWindow - SHORT_BY * input);
  return Math.min(most, Math.max(LEAST, left));
}

/** Tokens of thinking that the SDK adds to the tokens of an answer of these APIs; it takes `xhigh` for `high`. */
const THINKING: Readonly<Record<string, number>> = {
  minimal: 1024,
  low: 2048,
  medium: 8192,
  high: 16_384,
  xhigh: 16_384,
};
const ADDS_THINKING: ReadonlySet<string> = new Set(["anthropic-messages", "bedrock-converse-stream"]);

/** Tokens for thinking that the answer may have beyond the requested tokens. */
export const addedByThinking = (pi: PiModel, level: string | undefined): number =>
  level !== undefined && pi.reasoning && ADDS_THINKING.has(pi.api) ? (THINKING[level] ?? 0) : 0;

/** Claude models to which the SDK sends the level itself. */
const ADAPTIVE = /(?:opus|sonnet)-4[-.][6-9]/;
/** Tokens that the SDK leaves for the answer where all others are for thinking. */
const LEFT_BY_THINKING = 1024;

/**
 * Thinking in a request: the level, or the tokens that the SDK makes of the level. A model with a small limit gets the
 * same tokens at several levels.
 */
export function thinkingSent(pi: PiModel, level: string): string {
  const wanted = ADAPTIVE.test(pi.id) ? 0 : addedByThinking(pi, level);
  if (wanted === 0) return level;
  return String(pi.maxTokens <= wanted ? Math.max(0, pi.maxTokens - LEFT_BY_THINKING) : wanted);
}

/** The most tokens that a request of so many estimated ones has. */
export const mostInput = (pi: PiModel, input: number): number =>
  Math.max(input, Math.min(Math.ceil(input * SHORT_BY), pi.contextWindow));

/** The most tokens of an answer for which `requested` were requested. */
export function mostOutput(pi: PiModel, requested: number | undefined, added: number): number {
  const limit = pi.maxTokens > 0 ? pi.maxTokens : pi.contextWindow;
  return requested === undefined ? limit : Math.max(requested, Math.min(requested + added, limit));
}

/** The estimated tokens of a request. */
export function estimatedTokens({ systemPrompt = "", messages, tools = [] }: PiContext): number {
  const described = tools.reduce(
    (sum, { name, description, parameters }) => sum + estimateToolTokens(name, description, parameters),
    0,
  );
  return estimateAll(messages) + estimatePromptTokens(systemPrompt) + described;
}
