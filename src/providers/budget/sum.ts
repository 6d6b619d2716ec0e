import type { SpendSum } from "../../types/spend/ledger.ts";

const NO_SPEND: SpendSum = {
  calls: 0,
  input: 0,
  output: 0,
  cacheRead: 0,
  cacheWrite: 0,
  costUsd: 0,
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
  unknown: { tokens: a.unknown.tokens + b.unknown.tokens, usd: a.unknown.usd + b.unknown.usd },
});

export const tokensIn = ({ input, output, cacheRead, cacheWrite }: Omit<SpendSum, "costUsd">): number =>
  input + output + cacheRead + cacheWrite;
