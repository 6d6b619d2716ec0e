import { createHash } from "node:crypto";
import type { CronJobView, CronRunView } from "../../types/cron/answers.ts";
import type { CronJob } from "../../types/cron/job.ts";
import type { CronRun, CronState } from "../../types/cron/run.ts";
import { once } from "../../utils/share-calls.ts";
import { defined } from "../../utils/defined.ts";

/** The protocol's kinds of failures, where ours have other names. */
const REASONS: Readonly<Record<string, string>> = {
  auth: "auth",
  billing: "billing",
  rate_limit: "rate_limit",
  overloaded: "overloaded",
  loading: "overloaded",
  timeout: "timeout",
  network: "server_error",
  context_overflow: "context_overflow",
  format: "format",
  model_missing: "model_not_found",
};

/** A hash that changes with every setting of a job. */
export const jobRevision = once(({ updatedAtMs: _updated, createdAtMs: _created, ...job }: CronJob): string =>
  createHash("sha256").update(JSON.stringify(job)).digest("hex").slice(0, 16),
);

/** A job for clients, in the protocol's terms. */
export function jobView(job: CronJob, state: CronState, nextRunAtMs: number | undefined): CronJobView {
  const { scheduleRevision: _revision, setUpBy: _setUpBy, ...wish } = job;
  return {
    ...wish,
    configRevision: jobRevision(job),
    state: stateView(state, nextRunAtMs),
    ...summaryOf(state, nextRunAtMs),
  };
}

function stateView(state: CronState, nextRunAtMs: number | undefined) {
  const { cursorMs: _cursor, retry: _retry, underway, backoffUntilMs: _backoff, pacedAtMs: _paced, ...rest } = state;
  return { ...defined({ nextRunAtMs, runningAtMs: underway?.startedAtMs }), ...rest };
}

const summaryOf = (
  { lastRunAtMs, lastRunStatus, lastError, lastDeliveryStatus }: CronState,
  nextRunAtMs: number | undefined,
) =>
  defined({
    nextRunAtMs,
    lastRunAtMs,
    lastRunStatus,
    lastRunError: lastRunStatus === "error" ? lastError : undefined,
    lastDeliveryStatus,
  });

/** A record for clients, in the protocol's terms. */
export function runView(
  { slotAtMs: _slot, costUsd: _cost, webhookStatus: _webhook, errorReason, ...run }: CronRun,
  nextRunAtMs?: number,
): CronRunView {
  return { ...run, ...defined({ errorReason: errorReason && (REASONS[errorReason] ?? "unclassified"), nextRunAtMs }) };
}
