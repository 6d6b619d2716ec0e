import type { CronDesk } from "../../../automation/cron/desk.ts";
import type { CronActs } from "../../../types/cron/acts.ts";

/** The scheduled jobs of a running gateway. */
export interface OpenCron {
  readonly desk: CronDesk;
  /** What agents do with them. */
  readonly acts: CronActs;
  /** Begins the jobs that are due. */
  start(): void;
  close(): Promise<void>;
}
