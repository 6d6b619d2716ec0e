import { existsSync } from "node:fs";
import { tokensText, usdText } from "../../../../providers/budget/texts.ts";
import { OpenClawError } from "../../../../types/errors.ts";
import type { UsageGroup } from "../../../../types/spend/ledger.ts";
import { defined } from "../../../../utils/defined.ts";
import { openJournalToRead } from "../../../../store/journal/read-only.ts";
import { journalPath } from "../../../config/paths.ts";
import { type UsageFigures, type UsageReport, usageReportShape } from "../../../../types/answers/usage.ts";
import { lastDays, ONE_AGENT_BY_DAY, usageReport } from "../../../runs/usage.ts";
import { hasGateway } from "../../address.ts";
import { callOnce } from "../../call-gateway.ts";
import { type Io, writeJson } from "../../io.ts";
import { readState } from "../../state.ts";
import { table } from "../../table.ts";

export interface UsageFlags {
  readonly by: UsageGroup;
  readonly days: number;
  readonly agent?: string;
  readonly json?: boolean;
}

/** The usage of models: the gateway's answer, or the journal's when no gateway runs. */
export async function showUsage(io: Io, flags: UsageFlags): Promise<number> {
  const report = await readReport(io, flags);
  if (flags.json === true) writeJson(io, report);
  else io.out(reportText(io, report));
  return 0;
}

async function readReport(io: Io, { by, days, agent: agentId }: UsageFlags): Promise<UsageReport> {
  if (agentId !== undefined && by !== "day")
    throw new OpenClawError("USAGE", { message: `--agent: ${ONE_AGENT_BY_DAY}.`, fix: "Leave out --by, or --agent." });
  const state = await readState(io);
  if (hasGateway(io, state))
    return callOnce(io, state, {
      method: "usage.cost",
      params: { by, days, ...defined({ agentId }) },
      shape: usageReportShape,
    });
  const path = journalPath(state.paths);
  const asked = { ...lastDays(days, Date.now(), state.config.budgets.timezone), agentId };
  if (!existsSync(path)) return usageReport(EMPTY, by, asked);
  const journal = await openJournalToRead(path);
  try {
    return await usageReport(journal.spend, by, asked);
  } finally {
    await journal.close();
  }
}

/** A state directory without a journal. */
const EMPTY = { lines: async () => [], held: async () => ({ calls: 0, tokens: 0, usd: 0 }) };

function reportText(io: Io, { by, since, until, rows, totals, held }: UsageReport): string {
  if (rows.length === 0 && held.calls === 0) return `No model was asked from ${since} to ${until}.\n`;
  const cells = (name: string, { calls, input, output, cacheRead, cacheWrite, totalCost }: UsageFigures) => [
    name,
    ...[calls, input, output, cacheRead, cacheWrite].map((figure) => figure.toLocaleString("en-US")),
    usdText(totalCost),
  ];
  const head = [by.toUpperCase(), "CALLS", "IN", "OUT", "CACHE READ", "CACHE WRITE", "COST"];
  const lines = [...rows.map((row) => cells(row.name, row)), ...(rows.length > 1 ? [cells("all", totals)] : [])];
  return table(io, head, lines) + openText(totals, held);
}

/** The text for a value that is not known yet, or never will be. */
function openText({ unknownTokens, unknownCost }: UsageFigures, held: UsageReport["held"]): string {
  const lost =
    unknownTokens > 0
      ? `Calls of a gateway that was killed may have taken up to ${tokensText(unknownTokens)} (${usdText(unknownCost)}) more.\n`
      : "";
  const open =
    held.calls > 0
      ? `Running now: ${held.calls} calls, for which ${tokensText(held.tokens)} (${usdText(held.usd)}) are held.\n`
      : "";
  return lost + open;
}
