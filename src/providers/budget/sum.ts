import type { SpendSum } from "../../types/spend/ledger.ts";

const NO_SPEND: SpendSum = {
  calls: 0,
  input: 0,
  output: 0,
  cacheRead: 0,
  cacheWrite: 0,
  costUsd: 0,
  costs: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
  unpriced: 0,
  unknown: { tokens: 0, usd: 0 },
};

/** The sum of some sums. */
export const sumOf = (sums: readonly SpendSum[]): SpendSum => sums.reduce(added, NO_SPEND);

export const added = (a: SpendSum, b: SpendSum): SpendSum => ({
  calls: a.calls + b.calls,
  input: a.input + b.input,
  output: a.output + b.output,
  cacheRead: a.cacheRead + b.cacheRead,
  cacheWrite: a.cacheWrite + b.cacheWrite,
  costUsd: a.costUsd + b.costUsd,
  costs: {
    input: a.costs.input + b.costs.input,
    output: a.costs.output + b.costs.output,
    cacheRead: a.costs.cacheRead + b.costs.cacheRead,
    cacheWrite: a.costs.cacheWrite + b.costs.cacheWrite,
  },
  unpriced: a.unpriced + b.unpriced,
  unknown: { tokens: a.unknown.tokens + b.unknown.tokens, usd: a.unknown.usd + b.unknown.usd },
});

export const tokensIn = ({
  input,
  output,
  cacheRead,
  cacheWrite,
}: Pick<SpendSum, "input" | "output" | "cacheRead" | "cacheWrite">): number => input + output + cacheRead + cacheWrite;
