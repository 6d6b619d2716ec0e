import type { RunRecord } from "../../../types/journal.ts";

/** How often an engine was passed by in the runs that were its own, and why in the latest of them. */
export interface PassedBy {
  readonly runs: number;
  readonly of: number;
  readonly why: string;
}

/** Runs that are looked at. */
export const LATEST_RUNS = 20;

/** `runs`: the latest first. Undefined when every run had its engine. */
export function passedBy(id: string, runs: readonly Pick<RunRecord, "receipt">[]): PassedBy | undefined {
  const own = runs.filter(({ receipt }) => receipt.engine === id);
  const reasons = own.flatMap(({ receipt }) => receipt.engineDegraded ?? []);
  const [why] = reasons;
  return why === undefined ? undefined : { runs: reasons.length, of: own.length, why };
}
