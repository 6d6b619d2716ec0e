import type { Receipt } from "../../types/run/run.ts";

/** Facts about an ended run that a check reads. */
export interface EndedRun {
  readonly receipt: Pick<Receipt, "engine" | "engineDegraded">;
}

/** Number of an engine's latest runs (`of`) in which the engine was skipped, and the reason in the latest of these. */
export interface SkippedRuns {
  readonly runs: number;
  readonly of: number;
  readonly why: string;
}

/** Number of runs that are examined. */
export const LATEST_RUNS = 20;

/** `runs`: the latest first. Undefined when the engine was not skipped. */
export function skippedRuns(id: string, runs: readonly EndedRun[]): SkippedRuns | undefined {
  const own = runs.filter(({ receipt }) => receipt.engine === id);
  const reasons = own.flatMap(({ receipt }) => receipt.engineDegraded ?? []);
  const [why] = reasons;
  return why === undefined ? undefined : { runs: reasons.length, of: own.length, why };
}
