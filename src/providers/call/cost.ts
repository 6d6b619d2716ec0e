import { estimateTokens } from "../../sessions/transcript/tokens.ts";
import type { AssistantMessage, Usage } from "../../types/run/model.ts";
import type { CallCost, CallOrigin, PlannedCall } from "../../types/run/model-meter.ts";
import { hasTokens } from "../../types/run/usage.ts";
import { hasPrice } from "../build.ts";
import type { ModelHandle } from "../models.ts";
import type { PiModel } from "../pi.ts";
import { mostInput, mostOutput } from "./output.ts";

/** Prices are US dollars for this many tokens. */
const PRICED_TOKENS = 1_000_000;

export interface Sizes {
  readonly input: number;
  readonly maxOutput: number | undefined;
  /** See `addedByThinking`. */
  readonly added: number;
}

/** Fewer tokens of output than these are no answer. */
const LEAST_OUTPUT = 1024;

/** The call as the meter gets it. */
export function plannedCall({ pi, info, profile }: ModelHandle, origin: CallOrigin, sizes: Sizes): PlannedCall {
  const { input, maxOutput, added } = sizes;
  const outputTokens = mostOutput(pi, maxOutput, added);
  return {
    ...origin,
    model: { provider: info.provider, id: info.id },
    profileId: profile.id,
    estimatedInputTokens: input,
    ...(maxOutput !== undefined && { maxOutputTokens: maxOutput }),
    highestCost: highestCost(pi, { input, output: maxOutput ?? pi.maxTokens }),
    most: {
      inputTokens: mostInput(pi, input),
      outputTokens,
      leastOutputTokens: Math.min(outputTokens, LEAST_OUTPUT + added),
      ...((info.demo === true || hasPrice(pi)) && { price: priceOf(pi) }),
    },
  };
}

/** Some providers charge more for a request that fills their cache. */
const priceOf = ({ cost }: PiModel) => ({
  input: Math.max(cost.input, cost.cacheWrite) / PRICED_TOKENS,
  output: cost.output / PRICED_TOKENS,
});

function highestCost({ cost }: PiModel, { input, output }: { input: number; output: number }): number {
  return (input * Math.max(cost.input, cost.cacheWrite) + output * cost.output) / PRICED_TOKENS;
}

export interface EndedCall {
  readonly message: AssistantMessage;
  /** Estimated tokens of the request. */
  readonly input: number;
  /** The server accepted the request. */
  readonly isAccepted: boolean;
}

/**
 * The cost of a call, from the provider's figures if it sent them. A call that was stopped, or without figures, cost its
 * request and the part of the answer that came. A refused request and the demo cost nothing.
 */
export function costOf({ pi, info }: ModelHandle, { message, input, isAccepted }: EndedCall): CallCost {
  const { usage } = message;
  const outcome = OUTCOMES[message.stopReason];
  const isReported = hasTokens(usage) && outcome !== "aborted";
  const isFree = info.demo === true || (outcome === "failed" && !isAccepted);
  if (isReported || isFree) return { outcome, usage, isEstimate: false };
  return { outcome, usage: estimated(pi, message, input), isEstimate: true };
}

const OUTCOMES: Readonly<Record<AssistantMessage["stopReason"], CallCost["outcome"]>> = {
  stop: "answered",
  length: "answered",
  toolUse: "answered",
  error: "failed",
  aborted: "aborted",
};

/** Some providers report the request's tokens at the beginning of an answer, and the answer's tokens at its end. */
function estimated({ cost: prices }: PiModel, message: AssistantMessage, input: number): Usage {
  const { usage } = message;
  const parts = {
    input: hasTokens(usage) ? usage.input : input,
    output: Math.max(usage.output, estimateTokens(message)),
    cacheRead: usage.cacheRead,
    cacheWrite: usage.cacheWrite,
  };
  const priced = {
    input: (parts.input * prices.input) / PRICED_TOKENS,
    output: (parts.output * prices.output) / PRICED_TOKENS,
    cacheRead: (parts.cacheRead * prices.cacheRead) / PRICED_TOKENS,
    cacheWrite: (parts.cacheWrite * prices.cacheWrite) / PRICED_TOKENS,
  };
  return { ...parts, totalTokens: sum(parts), cost: { ...priced, total: sum(priced) } };
}

type Parts = Pick<Usage, "input" | "output" | "cacheRead" | "cacheWrite">;

const sum = ({ input, output, cacheRead, cacheWrite }: Parts): number => input + output + cacheRead + cacheWrite;
