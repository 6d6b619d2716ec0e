import type { RunId, SessionKey } from "../ids.ts";
import type { AgentFilter } from "../run/agent-filter.ts";

export type CronStatus = "ok" | "error" | "skipped";
/** `unknown`: the message may have arrived. */
export type CronDeliveryStatus = "delivered" | "not-delivered" | "unknown" | "not-requested";

/** A slot that has begun and whose record is not written yet. */
export interface CronUnderway {
  /** The key of the run's message in the inbox. */
  readonly eventKey: string;
  readonly slotMs: number;
  /** Start of the run in epoch milliseconds. */
  readonly startedAtMs: number;
  /** Revision of the job's schedule when the run began. Unset in runs that an older version began. */
  readonly scheduleRevision?: number;
  /** Somebody asked for the run; it is no slot of the schedule. */
  readonly isForced?: boolean;
  /** How often the slot was tried before. */
  readonly tries?: number;
  /** The run wants the next one so many milliseconds after its end. */
  readonly nextCheckMs?: number;
}

interface CronDeliveries {
  readonly lastDeliveryStatus?: CronDeliveryStatus;
  readonly lastDeliveryError?: string;
  readonly lastFailureAlertAtMs?: number;
}

interface CronPlans {
  /** The next run, as the last one has chosen. Earlier slots of the schedule are left out. */
  readonly pacedAtMs?: number;
}

/** History of a job: its runs, deliveries and plans. Times are epoch milliseconds. */
export interface CronState extends CronDeliveries, CronPlans {
  /** Slots until then are dealt with. */
  readonly cursorMs: number;
  readonly underway?: CronUnderway;
  /** Another try of a slot that failed. */
  readonly retry?: { readonly slotMs: number; readonly atMs: number; readonly tries: number };
  readonly lastRunAtMs?: number;
  readonly lastRunStatus?: CronStatus;
  readonly lastError?: string;
  readonly lastDurationMs?: number;
  readonly consecutiveErrors?: number;
  readonly consecutiveSkipped?: number;
  /** No slot before then is run: earlier ones failed. */
  readonly backoffUntilMs?: number;
  readonly autoDisabled?: {
    readonly reason: "consecutive-failures";
    readonly atMs: number;
    readonly consecutiveErrors: number;
  };
}

interface CronRunFacts {
  readonly runId?: RunId;
  readonly sessionId?: string;
  readonly sessionKey?: SessionKey;
  readonly model?: string;
  readonly provider?: string;
  readonly usage?: CronUsage;
  /** US dollars. */
  readonly costUsd?: number;
}

export interface CronUsage {
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly total_tokens: number;
  readonly cache_read_tokens: number;
  readonly cache_write_tokens: number;
}

interface CronRunDelivery {
  readonly delivered?: boolean;
  readonly deliveryStatus: CronDeliveryStatus;
  readonly deliveryError?: string;
  readonly deliverySuppressionReason?: "empty" | "silent" | "heartbeat";
  /** State of the webhook's delivery. */
  readonly webhookStatus?: CronDeliveryStatus;
}

/** The record of a slot that has ended. Execution, delivery and completion are three results. */
export interface CronRun extends CronRunFacts, CronRunDelivery {
  /** End of the run in epoch milliseconds. */
  readonly ts: number;
  readonly jobId: string;
  readonly jobName?: string;
  readonly action: "finished";
  readonly status: CronStatus;
  readonly completionStatus?: "succeeded" | "failed" | "unknown";
  readonly error?: string;
  /** A kind of failure, such as `rate_limit`. */
  readonly errorReason?: string;
  /** The beginning of the answer, or why it was skipped. */
  readonly summary?: string;
  /** The slot. */
  readonly slotAtMs: number;
  readonly runAtMs: number;
  readonly durationMs?: number;
}

/** Selects records of runs, the newest first. */
export interface CronRunFilter extends AgentFilter {
  readonly jobId?: string | undefined;
  readonly runId?: string | undefined;
  readonly statuses?: readonly string[] | undefined;
  readonly deliveryStatuses?: readonly string[] | undefined;
  readonly query?: string | undefined;
  readonly limit: number;
  readonly offset: number;
  readonly isOldestFirst?: boolean | undefined;
}
