import { z } from "zod";
import { agentOf } from "../../../sessions/keys.ts";
import { sessionKey, type SessionKey } from "../../../types/ids.ts";
import { keyParam } from "../../../types/key-field.ts";
import { type SpendLine, USAGE_GROUPS } from "../../../types/spend/ledger.ts";
import { defineMethod, MethodError, type Method } from "../../../types/method.ts";
import { sumOf } from "../../../providers/budget/sum.ts";
import type { SeenUsage } from "../../../providers/usage-windows.ts";
import {
  figuresOf,
  lastDays,
  ONE_AGENT_BY_DAY,
  usageRows,
  type SessionsUsage,
  usageAnswers,
  type UsageDays,
  usageReport,
  type UsageStatus,
} from "../../runs/usage.ts";
import type { Parts } from "../parts/parts.ts";

const date = z
  .string()
  .regex(/^\d{4}-\d{2}-\d{2}$/)
  .optional();
const RANGES = { "7d": 7, "30d": 30, "90d": 90, "1y": 366, all: 36_500 } as const;
const MOST_SESSIONS = 50;

const period = z.looseObject({
  startDate: date,
  endDate: date,
  days: z.int().min(1).max(36_500).optional(),
  range: z.enum(["7d", "30d", "90d", "1y", "all"]).optional(),
});

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
  defineMethod({
    name: "sessions.usage",
    scope: "operator.read",
    params: period.extend({
      key: keyParam().optional(),
      agentId: z.string().min(1).optional(),
      agentScope: z.literal("all").optional(),
      groupBy: z.enum(["instance", "family"]).optional(),
      limit: z.int().min(1).optional(),
    }),
    result: usageAnswers.sessions,
    run: (asked) => sessionsUsage(parts, asked),
  }),
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

type Period = Partial<Record<"startDate" | "endDate", string | undefined>> & {
  readonly days?: number | undefined;
  readonly range?: keyof typeof RANGES | undefined;
};

function daysOf({ startDate, endDate, days, range = "30d" }: Period, { live }: Parts): UsageDays {
  const last = lastDays(days ?? RANGES[range], Date.now(), live.config.budgets.timezone);
  return { since: startDate ?? last.since, until: endDate ?? last.until };
}

interface SessionsAsk extends Period {
  readonly key?: SessionKey | undefined;
  readonly agentId?: string | undefined;
  readonly groupBy?: "instance" | "family" | undefined;
  readonly limit?: number | undefined;
}

/** Conversations with what they took, the dearest first; with `family`, each with its subagents. */
async function sessionsUsage(parts: Parts, asked: SessionsAsk): Promise<SessionsUsage> {
  const { core, live } = parts;
  const defaultAgent = live.defaultAgent.id;
  const days = daysOf(asked, parts);
  const name = asked.key;
  const { spend } = core.journal;
  const own = await spend.lines({ scope: "session", name, ...days });
  const family = asked.groupBy === "family" ? await spend.lines({ scope: "family", name, ...days }) : [];
  const isWanted = (line: SpendLine) =>
    asked.agentId === undefined || agentOf(sessionKey(line.name), defaultAgent) === asked.agentId;
  const lines = [...own, ...family].filter(isWanted);
  const rows = usageRows(lines, (line) => line.name).toSorted((a, b) => b.totalTokens - a.totalTokens);
  const sessions = rows.slice(0, asked.limit ?? MOST_SESSIONS).map(({ name: key, ...usage }) => {
    const entry = core.sessions.peek(sessionKey(key));
    const { sessionId, updatedAt } = entry ?? {};
    const agentId = agentOf(sessionKey(key), defaultAgent);
    return {
      key,
      agentId,
      ...(sessionId !== undefined && { sessionId }),
      ...(updatedAt !== undefined && { updatedAt }),
      usage,
    };
  });
  return {
    updatedAt: Date.now(),
    startDate: days.since,
    endDate: days.until,
    sessions,
    totals: figuresOf(sumOf(lines)),
    aggregates: await aggregatesOf(parts, days, lines),
  };
}

async function aggregatesOf({ core }: Parts, days: UsageDays, lines: readonly SpendLine[]) {
  const { spend } = core.journal;
  const [models, agents] = await Promise.all([usageReport(spend, "model", days), usageReport(spend, "agent", days)]);
  return {
    byModel: models.rows.map(({ name, ...totals }) => ({ model: name, totals })),
    byAgent: agents.rows.map(({ name, ...totals }) => ({ agentId: name, totals })),
    daily: usageRows(lines, ({ day }) => day).map(({ name, ...figures }) => ({ date: name, ...figures })),
  };
}
