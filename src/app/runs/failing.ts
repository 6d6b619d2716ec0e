import type { RunRecord } from "../../types/journal.ts";

/** Number of latest runs that are examined. */
export const LOOKED_AT = 20;

/** Failures of the latest run and of those before it: `runs` in a row. */
export interface Failing {
  readonly runs: number;
  /** The kind of the latest failure, in words. */
  readonly kind: string;
}

/** Whether a record is that of a run: model calls that are no runs have certain ids, or the failure of a compaction. */
const isRun = ({ runId, result }: RunRecord): boolean =>
  !/^(?:plugin|compact)-|-(?:engine|compact)$/.test(runId) && result !== "failed:compaction_failure";

/**
 * The failures since the last run that did not fail; undefined when the latest run did not. `records` has the latest
 * first. Pure.
 */
export function failingNow(records: readonly RunRecord[]): Failing | undefined {
  const runs = records.filter(isRun);
  const end = runs.findIndex(({ result }) => !result.startsWith(FAILED));
  const [latest, ...earlier] = end === -1 ? runs : runs.slice(0, end);
  if (!latest) return undefined;
  const kind = latest.result.slice(FAILED.length).trim().replaceAll("_", " ");
  return { runs: earlier.length + 1, kind };
}

const FAILED = "failed:";

/** One sentence for the operator. */
export const failingText = ({ runs, kind }: Failing): string =>
  `${runs === 1 ? "The latest run failed" : `The latest ${runs} runs failed`} (${kind})`;
