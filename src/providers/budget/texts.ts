import type { BudgetState } from "../../types/answers/usage.ts";
import type { Amount, Balance, BalanceOf, HoldAmount } from "../../types/spend/ledger.ts";
import { defined } from "../../utils/defined.ts";
import type { WorstCase } from "../../types/run/model-meter.ts";
import type { Cap } from "./caps.ts";

/** As `$0.0042` or `$12.50`: two digits after the point, more for less than a cent. */
export function usdText(usd: number): string {
  const digits = usd === 0 || Math.abs(usd) >= 0.1 ? 2 : 4;
  return `$${usd.toFixed(digits)}`;
}

export const tokensText = (tokens: number): string => `${tokens.toLocaleString("en-US")} tokens`;

/** A limit with the amount that is taken of it, as other code may know it. */
export function stateOf({ cap, balance: { taken, raised } }: Room): BudgetState {
  const { usd, tokens } = cap.limit;
  return {
    key: cap.key,
    what: cap.what,
    ...defined({
      usd: typeof usd === "number" ? { taken: taken.usd, limit: usd + raised.usd } : undefined,
      tokens: tokens === undefined ? undefined : { taken: taken.tokens, limit: tokens + raised.tokens },
    }),
  };
}

/** As `$1.20 of $5.00, 10,000 of 200,000 tokens`. */
export function takenText({ usd, tokens }: BudgetState): string {
  const parts = [
    usd && `${usdText(usd.taken)} of ${usdText(usd.limit)}`,
    tokens && `${tokens.taken.toLocaleString("en-US")} of ${tokensText(tokens.limit)}`,
  ];
  return parts.filter((part) => part !== undefined).join(", ");
}

/** Why a call was refused, for an owner. */
export function capRefusalText(refusal: CapRefusal, model: string, most: Amount): string {
  const { key, what } = refusal.cap;
  if (refusal.because === "currency")
    return `${key} is in another currency than the prices, and budgets.usdPerUnit, the rate to US dollars, is missing.`;
  if (refusal.because === "unpriced")
    return (
      `${key} limits money, and the price of ${model} is not known: give the model a cost in models.providers ` +
      `(0 when it is free), or limit ${key} in tokens as well.`
    );
  const needed = refusal.cap.limit.usd === undefined ? tokensText(most.tokens) : usdText(most.usd);
  const taken = takenText(stateOf(refusal));
  return `the budget for ${what} does not allow it: ${taken} is spent or held, and this call can take up to ${needed} (${key}).`;
}

/** A limit with the amount that is taken of it. */
export interface Room {
  readonly cap: Cap;
  readonly balance: Balance;
}

/** `spent`: too little is left. `unpriced`: a limit in money, for a model whose price nobody knows. `currency`: without its rate. */
type CapRefusalCause = "spent" | "unpriced" | "currency";

/** Why a call must not be made: the first limit that does not allow it. */
export interface CapRefusal extends Room {
  readonly because: CapRefusalCause;
}

type BudgetDecision = { readonly hold: HoldAmount } | { readonly refusal: CapRefusal };

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
