import { estimateAll, estimateTextTokens } from "../../sessions/transcript/tokens.ts";
import type { PiContext, PiModel } from "../pi.ts";

/** The SDK asks for no more either; tokens. */
const MOST = 32_000;
/** The fewest tokens that are requested: the server decides whether they fit. */
const LEAST = 512;
/** Estimates are a fifth too low now and then, and the model's own template adds to them. */
const SHORT_BY = 1.2;

/**
 * Tokens to ask for the answer: what is wanted, else the model's own limit, and no more than its window has room for. Some
 * servers (vLLM, Anthropic) refuse a request whose question and answer together could exceed the window. `input`: estimated
 * tokens of the request.
 */
export function outputFor(pi: PiModel, input: number, wanted: number | undefined): number | undefined {
  const most = wanted ?? (pi.maxTokens > 0 ? Math.min(pi.maxTokens, MOST) : undefined);
  if (most === undefined) return undefined;
  const room = Math.floor(pi.contextWindow - SHORT_BY * input);
  return Math.min(most, Math.max(LEAST, room));
}

/** Tokens of a request, estimated. */
export function tokensOf({ systemPrompt = "", messages, tools = [] }: PiContext): number {
  const described = tools.map(
    ({ name, description, parameters }) => `${name}${description}${JSON.stringify(parameters)}`,
  );
  return estimateAll(messages) + [systemPrompt, ...described].reduce((sum, text) => sum + estimateTextTokens(text), 0);
}
