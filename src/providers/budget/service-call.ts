import type { CallOrigin, ModelMeter } from "../../types/run/model-meter.ts";
import { emptyUsage } from "../../types/run/usage.ts";

/** A request to a service that makes speech, or writes it down. */
export interface ServiceCall {
  /** Origin of the call, whose budgets pay for it; no budgets of its own when unset. */
  readonly origin?: CallOrigin | undefined;
  /** Name of the service, and its model. */
  readonly provider: string;
  readonly model: string;
  /** The most that the request can take, in the units that count as tokens here. */
  readonly most: number;
  /** US dollars of a unit; unset when it is not known. */
  readonly price: number | undefined;
}

/**
 * Asks a service within the budgets: the most that the request can take is held before the request, and `taken` of
 * `ask` counts after it. A failed request counts as nothing. Throws when the budgets do not allow the request, and
 * throws the errors of `ask`.
 */
export async function askWithin<T>(
  reserve: ModelMeter["reserve"],
  { origin = { cause: "message" }, provider, model, most, price }: ServiceCall,
  ask: () => Promise<{ readonly result: T; readonly taken: number }>,
): Promise<T> {
  const reservation = await reserve({
    ...origin,
    model: { provider, id: model },
    profileId: provider,
    estimatedInputTokens: most,
    maxOutputTokens: 0,
    highestCost: most * (price ?? 0),
    most: {
      inputTokens: most,
      outputTokens: 0,
      leastOutputTokens: 0,
      ...(price !== undefined && { price: { input: price, output: 0 } }),
    },
  });
  if (reservation.kind === "refused") throw new Error("the budget does not allow it");
  const settle = (outcome: "answered" | "failed", input: number): void => {
    const cost = input * (price ?? 0);
    const usage = { ...emptyUsage(), input, totalTokens: input };
    const priced = { ...usage, cost: { ...usage.cost, input: cost, total: cost } };
    reservation.settle({ outcome, usage: priced, isEstimate: true });
  };
  try {
    const { result, taken } = await ask();
    settle("answered", Math.min(taken, most));
    return result;
  } catch (error) {
    settle("failed", 0);
    throw error;
  }
}
