import type { InboxRow, Outcome, OutboxRow, RunRecord } from "../../types/journal.ts";
import type { CronJob } from "../../types/cron/job.ts";
import type { CronDeliveryStatus, CronRun, CronUnderway } from "../../types/cron/run.ts";
import { runId } from "../../types/ids.ts";
import { stripHeartbeatToken } from "../../reply/heartbeat-token.ts";
import { withoutBlock } from "./command/command-call.ts";
import { saysFailed } from "./cron-turn.ts";

const MOST_SUMMARY_CHARS = 2000;

/** Facts about a slot when its message has its outcome. */
export interface CronEnd {
  readonly job: CronJob;
  readonly underway: CronUnderway;
  readonly row: InboxRow;
  /** The record of the slot's run; undefined when it had no run. */
  readonly record: RunRecord | undefined;
  readonly sessionId?: string | undefined;
  /** The last text of the agent. */
  readonly answer: string;
  /** Rows of the outbox for the chat. */
  readonly sent: readonly OutboxRow[];
  /** Result of the webhook, when the job has one. */
  readonly webhook?: { readonly status: CronDeliveryStatus; readonly error?: string } | undefined;
  readonly now: number;
}

/** The record of a slot that was run. */
export function recordOf(end: CronEnd): CronRun {
  const { job, underway, row, answer, now } = end;
  const failure = failureOf(row.outcome, answer);
  if (failure && isOverBudget(failure, end))
    return { ...skippedRecord(job, underway.slotMs, failure.error, now), ...runFacts(end) };
  const delivery = failure ? undelivered(end) : deliveryOf(end);
  return {
    ...baseOf(job, underway, now),
    ...verdictOf(failure ?? lostIn(delivery, job), delivery.deliveryStatus),
    ...(answer !== "" && { summary: withoutBlock(answer).slice(0, MOST_SUMMARY_CHARS) }),
    ...delivery,
    ...runFacts(end),
    durationMs: (row.doneAt ?? now) - underway.startedAtMs,
  };
}

/** Whether a budget allowed the run no call of a model. The slot then counts as not run. */
const isOverBudget = ({ reason }: Failed, { record }: CronEnd): boolean =>
  reason === "budget" && (record?.receipt.calls ?? 0) === 0;

interface Failed {
  readonly error: string;
  readonly reason?: string;
}

function lostIn({ deliveryError, deliveryStatus }: Delivery, { delivery }: CronJob): Failed | undefined {
  const isLost = deliveryStatus === "not-delivered" && deliveryError !== undefined;
  if (!isLost || delivery?.bestEffort === true) return undefined;
  return { error: `not delivered: ${deliveryError}` };
}

function verdictOf(
  failed: Failed | undefined,
  delivery: CronDeliveryStatus,
): Pick<CronRun, "status" | "completionStatus" | "error" | "errorReason"> {
  if (!failed) return { status: "ok", completionStatus: delivery === "unknown" ? "unknown" : "succeeded" };
  const { error, reason } = failed;
  return { status: "error", completionStatus: "failed", error, ...(reason !== undefined && { errorReason: reason }) };
}

/** The record of slots that were not run. */
export const skippedRecord = (job: CronJob, slotMs: number, why: string, now: number): CronRun => ({
  ...baseOf(job, { slotMs, startedAtMs: now }, now),
  status: "skipped",
  summary: why,
  deliveryStatus: "not-requested",
});

/** The record of a slot that could not begin. */
export const failedRecord = (job: CronJob, underway: CronUnderway, error: string, now: number): CronRun => ({
  ...baseOf(job, underway, now),
  ...askedAs(underway),
  status: "error",
  completionStatus: "failed",
  error,
  deliveryStatus: "not-delivered",
  deliveryError: error,
});

/** The record of a text that waits for the next turn of its conversation. */
export const queuedRecord = (job: CronJob, underway: CronUnderway, now: number): CronRun => ({
  ...baseOf(job, underway, now),
  ...askedAs(underway),
  status: "ok",
  completionStatus: "succeeded",
  summary: "added to the next turn of the conversation",
  deliveryStatus: "not-requested",
});

/** The id of a requested run, by which its requester finds the record. */
const askedAs = ({ eventKey, isForced }: CronUnderway): Pick<CronRun, "runId"> =>
  isForced === true ? { runId: runId(eventKey) } : {};

function baseOf(job: CronJob, { slotMs, startedAtMs }: Pick<CronUnderway, "slotMs" | "startedAtMs">, now: number) {
  return {
    ts: now,
    jobId: job.id,
    jobName: job.name,
    action: "finished" as const,
    slotAtMs: slotMs,
    runAtMs: startedAtMs,
  };
}

function failureOf(outcome: Outcome | undefined, answer: string): Failed | undefined {
  switch (outcome?.kind) {
    case "failed": {
      const [, reason] = /^([a-z_]+): /.exec(outcome.why) ?? [];
      return { error: outcome.why, ...(reason !== undefined && { reason }) };
    }
    case "dropped":
      return { error: outcome.why };
    case "aborted":
      return { error: "the run was stopped" };
    default:
      return saysFailed(answer)
        ? { error: answer.replace(/^\s*AUTOMATION_FAILED\s*/, "").trim() || "the agent says so" }
        : undefined;
  }
}

type Delivery = Pick<
  CronRun,
  "delivered" | "deliveryStatus" | "deliveryError" | "deliverySuppressionReason" | "webhookStatus"
>;

/** The delivery of a run that failed: there is no answer to deliver, and messages sent before stay. */
const undelivered = ({ job, webhook }: CronEnd): Delivery =>
  job.delivery?.mode === "webhook" && webhook
    ? resultOf(webhook.status, webhook.error)
    : { deliveryStatus: (job.delivery?.mode ?? "none") === "none" ? "not-requested" : "not-delivered" };

function deliveryOf({ job, sent, webhook, answer, row }: CronEnd): Delivery {
  const mode = job.delivery?.mode ?? "none";
  if (mode === "webhook" && webhook)
    return { ...resultOf(webhook.status, webhook.error), webhookStatus: webhook.status };
  const beside = webhook ? { webhookStatus: webhook.status } : {};
  if (mode !== "announce") return { deliveryStatus: "not-requested", ...beside };
  return { ...announced(sent, row.outcome?.kind === "silent" ? suppressionOf(answer) : undefined), ...beside };
}

function announced(sent: readonly OutboxRow[], suppressed: Delivery["deliverySuppressionReason"]): Delivery {
  if (sent.length === 0) {
    const why = suppressed ? { deliverySuppressionReason: suppressed } : { deliveryError: "there was nothing to send" };
    return { deliveryStatus: "not-delivered", delivered: false, ...why };
  }
  const failed = sent.find(({ state }) => state === "failed");
  if (failed) return resultOf("not-delivered", failed.error ?? "the platform refused it");
  return resultOf(sent.every(({ state }) => state === "sent") ? "delivered" : "unknown");
}

const resultOf = (status: CronDeliveryStatus, error?: string): Delivery => ({
  deliveryStatus: status,
  ...(status !== "unknown" && { delivered: status === "delivered" }),
  ...(error !== undefined && { deliveryError: error }),
});

function suppressionOf(answer: string): Delivery["deliverySuppressionReason"] {
  if (answer.trim() === "") return "empty";
  return stripHeartbeatToken(answer, 0).silent ? "heartbeat" : "silent";
}

function runFacts({ row, record, sessionId }: CronEnd): Partial<CronRun> {
  const usage = record?.receipt.usage;
  return {
    ...(row.runId !== undefined && { runId: row.runId }),
    ...(row.sessionKey !== undefined && { sessionKey: row.sessionKey }),
    ...(sessionId !== undefined && { sessionId }),
    ...(record && modelIn(record.receipt)),
    ...(usage && {
      usage: {
        input_tokens: usage.input,
        output_tokens: usage.output,
        total_tokens: usage.input + usage.output + usage.cacheRead + usage.cacheWrite,
        cache_read_tokens: usage.cacheRead,
        cache_write_tokens: usage.cacheWrite,
      },
      costUsd: usage.cost.total,
    }),
  };
}

/** The model of a run; none for a command. */
const modelIn = ({ model: { id, provider } }: RunRecord["receipt"]): Partial<CronRun> =>
  provider === "none" ? {} : { model: id, provider };
