import { z } from "zod";
import { runId, sessionKey } from "../ids.ts";
import type { Answer } from "../method.ts";
import type { AgentFilter } from "../run/agent-filter.ts";

/** Epoch milliseconds. */
const time = z.int().min(0);
const count = z.number().optional();
const text = z.string().optional();

export const CRON_STATUSES = ["ok", "error", "skipped"] as const;
export type CronStatus = (typeof CRON_STATUSES)[number];
/** `unknown`: the message may have arrived. */
export const CRON_DELIVERIES = ["delivered", "not-delivered", "unknown", "not-requested"] as const;
export type CronDeliveryStatus = (typeof CRON_DELIVERIES)[number];
const status = z.enum(CRON_STATUSES);
const deliveryStatus = z.enum(CRON_DELIVERIES);

/** A slot that has begun and whose record is not written yet. */
const underway = z.looseObject({
  /** The key of the run's message in the inbox. */
  eventKey: z.string(),
  slotMs: z.number(),
  /** Start of the run in epoch milliseconds. */
  startedAtMs: z.number(),
  /** Revision of the job's schedule when the run began. Unset in runs that an older version began. */
  scheduleRevision: count,
  /** Somebody asked for the run; it is no slot of the schedule. */
  isForced: z.boolean().optional(),
  /** How often the slot was tried before. */
  tries: count,
  /** The run wants the next one so many milliseconds after its end. */
  nextCheckMs: count,
});
export type CronUnderway = Answer<z.output<typeof underway>>;

/** History of a job: its runs, deliveries and plans. Times are epoch milliseconds. */
export const cronState = z.looseObject({
  /** Slots until then are dealt with. */
  cursorMs: z.number(),
  underway: underway.optional(),
  /** Another try of a slot that failed. */
  retry: z.looseObject({ slotMs: z.number(), atMs: z.number(), tries: z.number() }).optional(),
  lastRunAtMs: count,
  lastRunStatus: status.optional(),
  lastError: text,
  lastDurationMs: count,
  lastDeliveryStatus: deliveryStatus.optional(),
  lastDeliveryError: text,
  lastFailureAlertAtMs: count,
  consecutiveErrors: count,
  consecutiveSkipped: count,
  /** No slot before then is run: earlier ones failed. */
  backoffUntilMs: count,
  /** The next run, as the last one has chosen. Earlier slots of the schedule are left out. */
  pacedAtMs: count,
  autoDisabled: z
    .looseObject({ reason: z.literal("consecutive-failures"), atMs: z.number(), consecutiveErrors: z.number() })
    .optional(),
});
export type CronState = Answer<z.output<typeof cronState>>;

const usage = z.looseObject({
  input_tokens: z.number(),
  output_tokens: z.number(),
  total_tokens: z.number(),
  cache_read_tokens: z.number(),
  cache_write_tokens: z.number(),
});

/** The record of a slot that has ended. Execution, delivery and completion are three results. */
export const cronRun = z.looseObject({
  /** End of the run in epoch milliseconds. */
  ts: time,
  jobId: z.string().min(1).max(200),
  jobName: text,
  action: z.literal("finished"),
  status,
  completionStatus: z.enum(["succeeded", "failed", "unknown"]).optional(),
  error: text,
  /** A kind of failure, such as `rate_limit`. */
  errorReason: text,
  /** The beginning of the answer, or why it was skipped. */
  summary: text,
  delivered: z.boolean().optional(),
  deliveryStatus,
  deliveryError: text,
  deliverySuppressionReason: z.enum(["empty", "silent", "heartbeat"]).optional(),
  /** State of the webhook's delivery. */
  webhookStatus: deliveryStatus.optional(),
  runId: z.string().transform(runId).optional(),
  sessionId: text,
  sessionKey: z.string().transform(sessionKey).optional(),
  /** The slot. */
  slotAtMs: z.number(),
  runAtMs: time,
  durationMs: count,
  model: text,
  provider: text,
  usage: usage.optional(),
  /** US dollars. */
  costUsd: count,
});
export type CronRun = Answer<z.output<typeof cronRun>>;

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
