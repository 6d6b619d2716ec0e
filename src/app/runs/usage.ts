import type { UsageDays, UsageFigures, UsageReport, UsageRow } from "../../types/answers/usage.ts";
import { dayAt } from "../../providers/budget/days.ts";
import { added, sumOf, tokensIn } from "../../providers/budget/sum.ts";
import {
  type SpendLedger,
  type SpendLine,
  type SpendScope,
  type SpendSum,
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
