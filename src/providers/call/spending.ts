import type { AssistantMessage, Usage } from "../../types/run/model.ts";
import type { CallCost, CallOrigin, Reservation, PlannedCall } from "../../types/run/model-meter.ts";
import { emptyUsage, hasTokens } from "../../types/run/usage.ts";
import { errorText } from "../../utils/text/error-text.ts";
import type { ModelHandle } from "../models.ts";
import { estimateTokens } from "../../sessions/transcript/tokens.ts";
import { hasPrice } from "../build.ts";
import type { PiModel } from "../pi.ts";
import { mostInput, mostOutput } from "./output.ts";

type Allowed = Extract<Reservation, { kind: "allowed" }>;

/** The cost of one call: reserved before the call is made, and settled exactly once after it. */
export class CallSpending {
  /** Whether the meter refused the call. */
  isRefused = false;
  /** The most tokens that may be requested of the answer, where the meter allows fewer than were wanted. */
  output: number | undefined;
  readonly #handle: ModelHandle;
  readonly #origin: CallOrigin;
  #reservation: Allowed | undefined;
  /** Estimated tokens of the request. */
  #input = 0;
  #isEnded = false;

  constructor(handle: ModelHandle, origin: CallOrigin) {
    this.#handle = handle;
    this.#origin = origin;
  }

  /** Reserves the cost. Returns the reason why the call must not be made, or undefined. Never rejects. */
  async reserve(sizes: Sizes): Promise<string | undefined> {
    this.#input = sizes.input;
    try {
      const planned = plannedCall(this.#handle, this.#origin, sizes);
      const answer = await this.#handle.meter.reserve(planned);
      if (answer.kind === "allowed" && answer.outputTokens !== undefined)
        this.output = Math.max(1, answer.outputTokens - sizes.added);
      return this.#take(answer);
    } catch (error) {
      return `The cost of the call could not be reserved: ${errorText(error)}`;
    }
  }

  #take(answer: Reservation): string | undefined {
    this.isRefused = answer.kind === "refused";
    if (answer.kind === "refused") return `The budget does not allow this call: ${answer.reason}`;
    if (!this.#isEnded) this.#reservation = answer;
    // The call was stopped meanwhile and is not made.
    else answer.settle({ outcome: "aborted", usage: emptyUsage(), isEstimate: false });
    return undefined;
  }

  /** Called at the end of the call. Returns its cost; undefined when it was not made, and on a second call. */
  settle(message: AssistantMessage, status: number | undefined): CallCost | undefined {
    this.#isEnded = true;
    const reservation = this.#reservation;
    if (!reservation) return undefined;
    this.#reservation = undefined;
    const isAccepted = status === undefined ? message.content.length > 0 : status < 400;
    const cost = costOf(this.#handle, { message, input: this.#input, isAccepted });
    reservation.settle(cost);
    return cost;
  }
}

/** Prices are US dollars for this many tokens. */
const PRICED_TOKENS = 1_000_000;

interface Sizes {
  readonly input: number;
  readonly maxOutput: number | undefined;
  /** See `addedByThinking`. */
  readonly added: number;
}

/** Fewer tokens of output than these are no answer. */
const LEAST_OUTPUT = 1024;

/** The call as the meter gets it. */
function plannedCall({ pi, info, profile }: ModelHandle, origin: CallOrigin, sizes: Sizes): PlannedCall {
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

interface EndedCall {
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
function costOf({ pi, info }: ModelHandle, { message, input, isAccepted }: EndedCall): CallCost {
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
