import type { Budgets } from "../../src/types/spend/budgets.ts";

const NOTHING = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };

/** No limit is set. */
export const NO_BUDGETS: Budgets = {
  refusedIn: () => undefined,
  hasRoomFor: async () => true,
  allow: async () => undefined,
  states: async () => [],
  raise: async () => "No budget limits this conversation.",
  spentToday: async () => ({
    calls: 0,
    ...NOTHING,
    costUsd: 0,
    costs: NOTHING,
    unpriced: 0,
    unknown: { tokens: 0, usd: 0 },
  }),
  softFor: async () => undefined,
};
