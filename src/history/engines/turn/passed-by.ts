import type { RunRecord } from "../../../types/journal.ts";

/** How often runs had to continue without their engine, and the reason in the latest of them. */
export interface PassedBy {
  readonly runs: number;
  readonly of: number;
  readonly why: string;
}

/** Runs that are searched. */
export const LATEST_RUNS = 20;

/** `runs`: the latest first. Undefined when every run had its engine. */
export function passedBy(id: string, runs: readonly Pick<RunRecord, "receipt">[]): PassedBy | undefined {
  const own = runs.filter(({ receipt }) => receipt.engine === id);
  const reasons = own.flatMap(({ receipt }) => receipt.engineDegraded ?? []);
  const [why] = reasons;
  return why === undefined ? undefined : { runs: reasons.length, of: own.length, why };
}
