import { setImmediate } from "node:timers/promises";
import type { PluginTotal, RunTotals } from "../../types/journal.ts";
import { count, text } from "../database/columns.ts";
import type { Commits } from "../database/commits.ts";
import type { Statements } from "../database/sqlite.ts";

/** Rows that are read at once, receipts included. That takes about a millisecond. */
const SLICE = 100;

// A row is later when its time is, or at the same time its row id.
const SLICE_END = `SELECT at, rowid AS id FROM runs WHERE (at, rowid) > (?, ?) ORDER BY at, rowid LIMIT 1 OFFSET ${SLICE - 1}`;
const IN_SLICE = "(at, rowid) > (?, ?) AND (at, rowid) <= (?, ?)";

// Rows of auxiliary costs are known by their ids here: reading the receipts of a day would cost too much.
const IS_RUN =
  "run_id NOT GLOB 'plugin-*' AND run_id NOT GLOB 'compact-*' AND run_id NOT GLOB '*-engine' AND run_id NOT GLOB '*-compact'";
const TOTALS = `
  SELECT coalesce(sum(${IS_RUN}), 0) AS runs, coalesce(sum(result LIKE 'failed%'), 0) AS failed, coalesce(sum(input), 0) AS input,
    coalesce(sum(output), 0) AS output, coalesce(sum(cost), 0) AS cost
  FROM runs WHERE ${IN_SLICE}`;

// The receipts that name no plugin are not parsed. A run that a plugin asked for is that plugin's, but for its calls beside.
const PLUGIN_TOTALS = `
  WITH own AS (SELECT receipt FROM runs WHERE ${IN_SLICE} AND instr(receipt, '"plugin":') > 0),
  beside AS (
    SELECT own.receipt ->> 'plugin' AS asker, cost.value ->> 'plugin' AS plugin, cost.value AS cost
    FROM own, json_each(own.receipt, '$.beside') AS cost
  ),
  parts AS (
    SELECT plugin, 1 AS sign, cost AS part FROM beside WHERE plugin IS NOT NULL
    UNION ALL SELECT asker, -1, cost FROM beside WHERE plugin IS NOT NULL AND asker IS NOT NULL
    UNION ALL SELECT receipt ->> 'plugin', 1, receipt FROM own WHERE receipt ->> 'plugin' IS NOT NULL
  )
  SELECT plugin, sum(sign * (part ->> 'calls')) AS calls, sum(sign * (part ->> '$.usage.input')) AS input,
    sum(sign * (part ->> '$.usage.output')) AS output, sum(sign * (part ->> '$.usage.cost.total')) AS cost
  FROM parts GROUP BY 1`;

/** A place in the order of the rows. */
type Place = readonly [at: number, rowId: number];
type Slice = readonly [...from: Place, ...to: Place];

const LAST: Place = [Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER];

/** Reads the rows since `since` (epoch milliseconds) in slices, between which the event loop does other work. */
async function inSlices(commits: Commits, since: number, read: (sql: Statements, slice: Slice) => void): Promise<void> {
  let from: Place | undefined = [since, -1];
  while (from) {
    const [at, id]: Place = from;
    from = await commits.read((sql) => {
      const row = sql.one(SLICE_END, at, id);
      const to: Place | undefined = row && [count(row, "at"), count(row, "id")];
      read(sql, [at, id, ...(to ?? LAST)]);
      return to;
    });
    if (from) await setImmediate();
  }
}

/** Sums of all rows since an epoch millisecond. `runs` does not count the rows of auxiliary costs. */
export async function runTotals(commits: Commits, since: number): Promise<RunTotals> {
  const totals = { runs: 0, failed: 0, input: 0, output: 0, costUsd: 0 };
  await inSlices(commits, since, (sql, slice) => {
    const row = sql.one(TOTALS, ...slice);
    totals.runs += count(row, "runs");
    totals.failed += count(row, "failed");
    totals.input += count(row, "input");
    totals.output += count(row, "output");
    totals.costUsd += count(row, "cost");
  });
  return totals;
}

/** The model calls of plugins since an epoch millisecond; sorted by plugin. */
export async function pluginTotals(commits: Commits, since: number): Promise<readonly PluginTotal[]> {
  const totals = new Map<string, PluginTotal>();
  await inSlices(commits, since, (sql, slice) => {
    for (const row of sql.all(PLUGIN_TOTALS, ...slice)) {
      const plugin = text(row, "plugin");
      const { calls = 0, input = 0, output = 0, costUsd = 0 } = totals.get(plugin) ?? {};
      totals.set(plugin, {
        plugin,
        calls: calls + count(row, "calls"),
        input: input + count(row, "input"),
        output: output + count(row, "output"),
        costUsd: costUsd + count(row, "cost"),
      });
    }
  });
  return [...totals.values()].toSorted((a, b) => (a.plugin < b.plugin ? -1 : 1));
}
