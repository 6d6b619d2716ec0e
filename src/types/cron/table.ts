import type { CronJob } from "./job.ts";
import type { CronRun, CronRunFilter, CronState } from "./run.ts";

export interface StoredCron {
  readonly job: CronJob;
  readonly state: CronState;
}

/** A job as the journal has it. Nothing is known about the types of its parts. */
export interface StoredRow {
  readonly id: string;
  readonly job: unknown;
  readonly state: unknown;
}

/** The jobs of the journal. Each write is durable when it resolves, and rejects with `OpenClawError` DISK_FULL or DISK_WRITE. */
export interface CronTable {
  all(): Promise<readonly StoredRow[]>;
  put(job: CronJob, state: CronState): Promise<void>;
  /** Stores the state of a job. Nothing happens when the job was removed. */
  putState(id: string, state: CronState): Promise<void>;
  /** Removes a job; its records stay. False when there is none. */
  remove(id: string): Promise<boolean>;
  /** Stores the record of a slot and the state after it in one transaction. */
  addRun(run: CronRun, eventKey: string, state: CronState): Promise<void>;
  runs(filter: CronRunFilter): Promise<{ readonly runs: readonly CronRun[]; readonly total: number }>;
  /** Sessions of runs that ended before then and were not forgotten yet. */
  sessionsBefore(ts: number, limit: number): Promise<readonly string[]>;
  forgetSession(key: string): Promise<void>;
  /** Removes records that ended before then, and of each job all but the newest `most`. */
  prune(before: number, most: number): Promise<void>;
}
