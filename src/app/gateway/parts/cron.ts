import type { CronDesk } from "../../../automation/cron/desk.ts";
import type { CronActs } from "../../../types/cron/acts.ts";
import type { LoopDesk } from "../../../types/cron/loops.ts";

/** The scheduled jobs of a running gateway. */
export interface OpenCron {
  readonly desk: CronDesk;
  /** Acts of agents on the jobs. */
  readonly acts: CronActs;
  /** The repeated tasks of conversations. */
  readonly loops: LoopDesk;
  /** Begins the jobs that are due. */
  start(): void;
  close(): Promise<void>;
}
