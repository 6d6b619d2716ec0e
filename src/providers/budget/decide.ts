import type { WorstCase } from "../../types/run/model-meter.ts";
import type { Balance, BalanceOf, HoldAmount } from "../../types/spend/ledger.ts";
import type { Cap } from "./caps.ts";

/** A limit with the amount that is taken of it. */
export interface Room {
  readonly cap: Cap;
  readonly balance: Balance;
}

/** `spent`: too little is left. `unpriced`: a limit in money, for a model whose price nobody knows. `currency`: without its rate. */
export type CapRefusalCause = "spent" | "unpriced" | "currency";

/** Why a call must not be made: the first limit that does not allow it. */
export interface CapRefusal extends Room {
  readonly because: CapRefusalCause;
}

export type BudgetDecision = { readonly hold: HoldAmount } | { readonly refusal: CapRefusal };

const NOTHING: Balance = { taken: { tokens: 0, usd: 0 }, raised: { tokens: 0, usd: 0 } };
/** Dollars. Sums of fractions of cents are not exact. */
const ROUNDING = 1e-9;

/**
 * Whether a call may be made, and the amount that is held for it: its worst case, with fewer tokens of output where a
 * limit leaves fewer. Refused when not even the least output fits. A limit in money does not allow a call without a
 * price, unless it is limited in tokens too: the limit in tokens then applies.
 */
export function decideCall(most: WorstCase, caps: readonly Cap[], balanceOf: BalanceOf): BudgetDecision {
  let output = most.outputTokens;
  for (const cap of caps) {
    const balance = cap.place ? balanceOf(cap.place) : NOTHING;
    const fits = outputWithin({ cap, balance }, most);
    if (typeof fits === "string") return { refusal: { cap, balance, because: fits } };
    if (fits < most.leastOutputTokens) return { refusal: { cap, balance, because: "spent" } };
    output = Math.min(output, fits);
  }
  return { hold: amountOf(most, output) };
}

export function amountOf({ inputTokens, price }: WorstCase, output: number): HoldAmount {
  const usd = price ? inputTokens * price.input + output * price.output : 0;
  return { input: inputTokens, output, tokens: inputTokens + output, usd };
}

/** The rest of a limit; infinite where there is none. */
export function leftOf({ cap, balance: { taken, raised } }: Room): { readonly usd: number; readonly tokens: number } {
  const { usd, tokens } = cap.limit;
  return {
    usd: typeof usd === "number" ? usd + raised.usd - taken.usd : Infinity,
    tokens: tokens === undefined ? Infinity : tokens + raised.tokens - taken.tokens,
  };
}

/** The tokens of output that a limit allows, below 0 when not even the request fits. */
function outputWithin(room: Room, { inputTokens, price }: WorstCase): number | Exclude<CapRefusalCause, "spent"> {
  const left = leftOf(room);
  const byTokens = left.tokens - inputTokens;
  const { usd, tokens } = room.cap.limit;
  if (usd === undefined) return byTokens;
  if (!price) return tokens === undefined ? "unpriced" : byTokens;
  // A model that costs nothing may be used whatever is spent.
  if (price.input === 0 && price.output === 0) return byTokens;
  if (usd === "unknown") return "currency";
  const forOutput = left.usd - inputTokens * price.input + ROUNDING;
  if (forOutput < 0) return -1;
  const byMoney = price.output > 0 ? Math.floor(forOutput / price.output) : Infinity;
  return Math.min(byTokens, byMoney);
}
