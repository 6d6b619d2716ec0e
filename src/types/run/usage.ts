import { z } from "zod";
import type { Answer } from "../method.ts";

const figures = { input: z.number(), output: z.number(), cacheRead: z.number(), cacheWrite: z.number() };
/** Tokens; `cost` in US dollars. */
export const usageShape = z.looseObject({
  ...figures,
  totalTokens: z.number(),
  cost: z.looseObject({ ...figures, total: z.number() }),
});
export type Usage = Answer<z.output<typeof usageShape>>;

export function emptyUsage(): Usage {
  return {
    input: 0,
    output: 0,
    cacheRead: 0,
    cacheWrite: 0,
    totalTokens: 0,
    cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
  };
}

/** Whether the provider reported tokens; it does not for a call that failed early. */
export const hasTokens = ({ input, output, cacheRead, cacheWrite }: Usage): boolean =>
  input + output + cacheRead + cacheWrite > 0;

/**
 * Whether a provider can have meant these figures: figures below nothing would give budgets back the cost of other
 * calls.
 */
export const isPossible = ({ input, output, cacheRead, cacheWrite, totalTokens, cost }: Usage): boolean =>
  [input, output, cacheRead, cacheWrite, totalTokens, cost.total].every(
    (figure) => Number.isFinite(figure) && figure >= 0,
  );

export function addUsage(a: Usage, b: Usage): Usage {
  return {
    input: a.input + b.input,
    output: a.output + b.output,
    cacheRead: a.cacheRead + b.cacheRead,
    cacheWrite: a.cacheWrite + b.cacheWrite,
    totalTokens: a.totalTokens + b.totalTokens,
    cost: {
      input: a.cost.input + b.cost.input,
      output: a.cost.output + b.cost.output,
      cacheRead: a.cost.cacheRead + b.cost.cacheRead,
      cacheWrite: a.cost.cacheWrite + b.cost.cacheWrite,
      total: a.cost.total + b.cost.total,
    },
  };
}
