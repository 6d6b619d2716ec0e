import { z } from "zod";
import { agentOf } from "../../../sessions/keys.ts";
import type { SessionKey } from "../../../types/ids.ts";
import { keyParam } from "../../../types/key-field.ts";
import { USAGE_GROUPS } from "../../../types/spend/ledger.ts";
import { defineMethod, MethodError, type Method } from "../../../types/method.ts";
import type { SeenUsage } from "../../../providers/usage-windows.ts";
import { usageAnswers, type UsageStatus } from "../../../types/answers/usage.ts";
import { figuresOf, ONE_AGENT_BY_DAY, usageReport } from "../../runs/usage.ts";
import type { Parts } from "../parts/parts.ts";
import { sessionUsageMethods } from "./session-usage-methods.ts";
import { daysOf, period } from "./usage-period.ts";

/** The methods that show what was used, and what the budgets leave. */
export const usageMethods = (parts: Parts): readonly Method[] => [
  defineMethod({
    name: "usage.status",
    scope: "operator.read",
    params: z.looseObject({ sessionKey: keyParam().optional() }),
    result: usageAnswers.status,
    run: ({ sessionKey: key }) => usageStatus(parts, key),
  }),
  defineMethod({
    name: "usage.cost",
    scope: "operator.read",
    params: period.extend({ by: z.enum(USAGE_GROUPS).optional(), agentId: z.string().min(1).optional() }),
    result: usageAnswers.cost,
    run: async ({ by = "day", agentId, ...asked }) => {
      const days = daysOf(asked, parts);
      const { spend } = parts.core.journal;
      if (agentId !== undefined && by !== "day") throw new MethodError("INVALID_REQUEST", ONE_AGENT_BY_DAY);
      const daily = await usageReport(spend, "day", { ...days, agentId });
      const rows = by === "day" ? daily.rows : (await usageReport(spend, by, days)).rows;
      return {
        updatedAt: Date.now(),
        days: daily.rows.length,
        daily: daily.rows.map(({ name, ...figures }) => ({ date: name, ...figures })),
        totals: daily.totals,
        ...days,
        by,
        rows,
        held: daily.held,
      };
    },
  }),
  ...sessionUsageMethods(parts),
];

const shownUsage = ({ provider, profileId, at, windows }: SeenUsage) => ({
  provider,
  displayName: provider,
  windows,
  profileId,
  fetchedAt: at,
});

async function usageStatus({ core, live }: Parts, key: SessionKey | undefined): Promise<UsageStatus> {
  const agentId = key === undefined ? live.defaultAgent.id : agentOf(key, live.defaultAgent.id);
  const origin = { cause: "message", agentId, ...(key !== undefined && { sessionKey: key }) } as const;
  const { budgets, windows } = core.models;
  return {
    updatedAt: Date.now(),
    providers: windows.list().map(shownUsage),
    budgets: await budgets.states(origin),
    today: figuresOf(await budgets.spentToday(key)),
  };
}
