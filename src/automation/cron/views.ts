import { createHash } from "node:crypto";
import type { CronJobRow, CronJobView, CronRunView } from "../../types/cron/answers.ts";
import type { CronJob } from "../../types/cron/job.ts";
import type { CronRun, CronState } from "../../types/cron/run.ts";
import type { CronPlace } from "./cron-message.ts";
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

/** A hash that changes when jobs of a list, their order or their settings do. */
export const jobsRevision = (jobs: readonly CronJob[]): string =>
  `sha256:${createHash("sha256")
    .update(JSON.stringify(jobs.map((job) => [job.id, jobRevision(job)])))
    .digest("hex")}`;

export type CronDestinations = Readonly<Record<string, { readonly label: string; readonly detail: string }>>;

/** Where the report of a job goes, in words. */
export function destinationOf({ delivery, payload }: CronJob, { to, problem }: CronPlace): CronDestinations[string] {
  const none = { label: "not requested", detail: "not requested" };
  if (delivery?.mode === "webhook") return { label: "webhook", detail: delivery.to ?? "webhook" };
  if (payload.kind !== "systemEvent" && delivery?.mode !== "announce") return none;
  const label = `announce -> ${delivery?.channel ?? "last"}`;
  if (problem !== undefined) return { label, detail: problem };
  return to ? { label, detail: `${to.channel}:${to.chat.id}` } : none;
}

/** A job for a list of many, without its work: its times, and how its last run ended. */
export function compactView(job: CronJobView): CronJobRow {
  const { id, name, agentId, updatedAtMs, declarationKey, displayName, enabled, schedule, configRevision } = job;
  const { nextRunAtMs, lastRunAtMs, lastRunStatus, lastRunError, lastDeliveryStatus } = job;
  return {
    id,
    name,
    updatedAtMs,
    enabled,
    schedule,
    configRevision,
    scheduleKind: schedule.kind,
    ...defined({ agentId, declarationKey, displayName, lastDeliveryStatus }),
    ...defined({ nextRunAtMs, nextRunAt: isoOf(nextRunAtMs) ?? undefined }),
    lastRunAt: isoOf(lastRunAtMs),
    lastRunAtMs: lastRunAtMs ?? null,
    lastRunStatus: lastRunStatus ?? null,
    lastRunError: lastRunError ?? null,
  };
}

const isoOf = (at: number | undefined): string | null => (at === undefined ? null : new Date(at).toISOString());

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
