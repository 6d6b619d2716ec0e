import { z } from "zod";
import { keyField } from "../../types/key-field.ts";
import { usageWindow } from "../../providers/usage-windows.ts";
import type { Answer } from "../../types/method.ts";
import { messageCounts, toolUsage } from "../../sessions/shown/message-counts.ts";
import { budgetState } from "../../types/spend/budgets.ts";
import { dayAt } from "../../providers/budget/days.ts";
import { added, sumOf, tokensIn } from "../../providers/budget/sum.ts";
import {
  type SpendLedger,
  type SpendLine,
  type SpendScope,
  type SpendSum,
  USAGE_GROUPS,
  type UsageGroup,
} from "../../types/spend/ledger.ts";

const SCOPES: Readonly<Record<UsageGroup, SpendScope>> = {
  day: "all",
  agent: "agent",
  session: "session",
  job: "job",
  model: "model",
  sender: "sender",
};

/** Figures of calls as OpenClaw's clients know them. Costs are US dollars. */
const figures = z.object({
  calls: z.number(),
  input: z.number(),
  output: z.number(),
  cacheRead: z.number(),
  cacheWrite: z.number(),
  totalTokens: z.number(),
  totalCost: z.number(),
  inputCost: z.number(),
  outputCost: z.number(),
  cacheReadCost: z.number(),
  cacheWriteCost: z.number(),
  /** Calls of models whose price is not known. */
  missingCostEntries: z.number(),
  /** The most that calls of a killed process may have taken; in no other figure. */
  unknownTokens: z.number(),
  unknownCost: z.number(),
});
export type UsageFigures = Answer<z.output<typeof figures>>;

const row = figures.extend({ name: z.string() });
export type UsageRow = Answer<z.output<typeof row>>;

export const usageReportShape = z.object({
  by: z.enum(USAGE_GROUPS),
  /** First and last day, as `2026-11-27`. */
  since: z.string(),
  until: z.string(),
  /** The rows: by day the oldest first, else the dearest. */
  rows: z.array(row),
  totals: figures,
  /** The holds of calls that have not ended. */
  held: z.object({ calls: z.number(), tokens: z.number(), usd: z.number() }),
});
export type UsageReport = Answer<z.output<typeof usageReportShape>>;
/** Both included. */
export type UsageDays = Pick<UsageReport, "since" | "until">;

const daily = z.array(figures.extend({ date: z.string() }));
const updatedAt = z.number();
const model = { provider: z.string(), model: z.string() };
const amount = { tokens: z.number(), cost: z.number() };

/** The answers of `usage.*` and `sessions.usage`. */
export const usageAnswers = {
  status: z.looseObject({
    updatedAt,
    /** The limits of each provider's key, as its last answer told them. */
    providers: z.array(
      z.looseObject({
        provider: z.string(),
        displayName: z.string(),
        profileId: z.string().optional(),
        fetchedAt: z.number(),
        windows: z.array(usageWindow),
      }),
    ),
    budgets: z.array(budgetState),
    today: figures,
  }),
  cost: usageReportShape.extend({ updatedAt, days: z.number(), daily }),
  sessions: z.looseObject({
    updatedAt,
    startDate: z.string(),
    endDate: z.string(),
    sessions: z.array(
      z.looseObject({
        key: keyField(),
        sessionFamilyKey: keyField().optional(),
        agentId: z.string(),
        sessionId: z.string().optional(),
        updatedAt: updatedAt.optional(),
        usage: figures.loose(),
      }),
    ),
    totals: figures,
    aggregates: z.looseObject({
      byModel: z.array(z.looseObject({ ...model, count: z.number(), totals: figures })),
      byProvider: z.array(z.looseObject({ provider: z.string(), count: z.number(), totals: figures })),
      byAgent: z.array(z.looseObject({ agentId: z.string(), totals: figures })),
      byChannel: z.array(z.looseObject({ channel: z.string(), totals: figures })),
      costDaily: daily,
      modelDaily: z.array(z.looseObject({ ...model, date: z.string(), ...amount, count: z.number() })),
      daily: z.array(z.looseObject({ date: z.string(), ...amount })),
      sessionCount: z.number(),
      messages: messageCounts,
      tools: toolUsage,
    }),
    creatorOptions: z.array(z.looseObject({ key: z.string() })),
  }),
  timeseries: z.looseObject({
    sessionId: z.string().optional(),
    points: z.array(
      z.looseObject({ timestamp: z.number(), totalTokens: z.number(), cost: z.number(), cumulativeTokens: z.number() }),
    ),
  }),
  logs: z.looseObject({
    logs: z.array(z.looseObject({ timestamp: z.number(), role: z.string(), content: z.string() })),
  }),
};
type Answers = { readonly [Name in keyof typeof usageAnswers]: Answer<z.output<(typeof usageAnswers)[Name]>> };
export type UsageStatus = Answers["status"];
export type SessionsUsage = Answers["sessions"];

type Source = Pick<SpendLedger, "lines" | "held">;

/** The ledger has the sums of an agent for each day, and for nothing smaller. */
export const ONE_AGENT_BY_DAY = "the usage of one agent is known by day only";

interface UsageAsk extends UsageDays {
  /** Only the usage of this agent; by day. */
  readonly agentId?: string | undefined;
}

/** The usage of models in some days. */
export async function usageReport(
  ledger: Source,
  by: UsageGroup,
  { agentId, ...days }: UsageAsk,
): Promise<UsageReport> {
  const scope = agentId === undefined ? { scope: SCOPES[by] } : { scope: "agent" as const, name: agentId };
  const lines = await ledger.lines({ ...scope, ...days });
  const all = by === "day" ? lines : await ledger.lines({ scope: "all", ...days });
  const rows = usageRows(lines, by === "day" ? ({ day }) => day : ({ name }) => name);
  return {
    by,
    ...days,
    rows: by === "day" ? rows : rows.toSorted((a, b) => b.totalCost - a.totalCost || b.totalTokens - a.totalTokens),
    totals: figuresOf(sumOf(all)),
    held: await ledger.held(),
  };
}

/** One row for each name, in the order of their first lines. */
export function usageRows(lines: readonly SpendLine[], nameOf: (line: SpendLine) => string): readonly UsageRow[] {
  const sums = new Map<string, SpendSum>();
  for (const line of lines) {
    const before = sums.get(nameOf(line));
    sums.set(nameOf(line), before ? added(before, line) : line);
  }
  return [...sums].map(([name, sum]) => ({ name, ...figuresOf(sum) }));
}

export function figuresOf(sum: SpendSum): UsageFigures {
  const { calls, input, output, cacheRead, cacheWrite, costUsd, costs, unpriced, unknown } = sum;
  return {
    calls,
    input,
    output,
    cacheRead,
    cacheWrite,
    totalTokens: tokensIn(sum),
    totalCost: costUsd,
    inputCost: costs.input,
    outputCost: costs.output,
    cacheReadCost: costs.cacheRead,
    cacheWriteCost: costs.cacheWrite,
    missingCostEntries: unpriced,
    unknownTokens: unknown.tokens,
    unknownCost: unknown.usd,
  };
}

const DAY_MS = 86_400_000;

/** The last `days` days until today, in the zone of the budgets. */
export const lastDays = (days: number, now: number, zone: string | undefined): UsageDays => ({
  since: dayAt(now - (days - 1) * DAY_MS, zone),
  until: dayAt(now, zone),
});
