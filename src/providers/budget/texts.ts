import type { BudgetState } from "../../types/answers/usage.ts";
import type { Amount } from "../../types/spend/ledger.ts";
import { defined } from "../../utils/defined.ts";
import type { CapRefusal, Room } from "./decide.ts";

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
