import { dayAt } from "../../providers/budget/days.ts";
import { added, sumOf, tokensIn } from "../../providers/budget/sum.ts";
import type { SpendLedger, SpendLine, SpendScope, SpendSum } from "../../types/spend/ledger.ts";

/** Groups for each of which a report can have one row. */
export const USAGE_GROUPS = ["day", "agent", "session", "job", "model", "sender"] as const;
export type UsageGroup = (typeof USAGE_GROUPS)[number];

const SCOPES: Readonly<Record<UsageGroup, SpendScope>> = {
  day: "all",
  agent: "agent",
  session: "session",
  job: "job",
  model: "model",
  sender: "sender",
};

/** Figures of calls as OpenClaw's clients know them. Costs are US dollars. */
export interface UsageFigures {
  readonly calls: number;
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  readonly totalTokens: number;
  readonly totalCost: number;
  /** The most that calls of a killed process may have taken; in no other figure. */
  readonly unknownTokens: number;
  readonly unknownCost: number;
}

export interface UsageRow extends UsageFigures {
  readonly name: string;
}

/** Days as `2026-11-27`, both included. */
export interface UsageDays {
  readonly since: string;
  readonly until: string;
}

export interface UsageReport extends UsageDays {
  readonly by: UsageGroup;
  /** The rows: by day the oldest first, else the dearest. */
  readonly rows: readonly UsageRow[];
  readonly totals: UsageFigures;
  /** The holds of calls that have not ended. */
  readonly held: { readonly calls: number; readonly tokens: number; readonly usd: number };
}

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
  const rows = rowsOf(lines, by === "day" ? ({ day }) => day : ({ name }) => name);
  return {
    by,
    ...days,
    rows: by === "day" ? rows : rows.toSorted((a, b) => b.totalCost - a.totalCost || b.totalTokens - a.totalTokens),
    totals: figuresOf(sumOf(all)),
    held: await ledger.held(),
  };
}

/** One row for each name, in the order of their first lines. */
export function rowsOf(lines: readonly SpendLine[], nameOf: (line: SpendLine) => string): readonly UsageRow[] {
  const sums = new Map<string, SpendSum>();
  for (const line of lines) {
    const before = sums.get(nameOf(line));
    sums.set(nameOf(line), before ? added(before, line) : line);
  }
  return [...sums].map(([name, sum]) => ({ name, ...figuresOf(sum) }));
}

export function figuresOf(sum: SpendSum): UsageFigures {
  const { calls, input, output, cacheRead, cacheWrite, costUsd, unknown } = sum;
  return {
    calls,
    input,
    output,
    cacheRead,
    cacheWrite,
    totalTokens: tokensIn(sum),
    totalCost: costUsd,
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
