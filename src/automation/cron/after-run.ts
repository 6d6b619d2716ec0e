import type { CronAlert, CronJob } from "../../types/cron/job.ts";
import type { CronRun, CronState, CronUnderway } from "../../types/cron/run.ts";
import { readDuration } from "../../utils/time/duration.ts";

/** Milliseconds that a repeated job rests, by its number of failures in a row. */
const BACKOFF_MS = [30_000, 60_000, 5 * 60_000, 15 * 60_000, 60 * 60_000];
/** Failures in a row after which a repeated job is switched off. */
const MOST_FAILURES = 10;
const HOUR_MS = 60 * 60_000;

/** The kinds of failures that may be over after a while. */
const PASSING = new Set(["rate_limit", "overloaded", "network", "timeout", "server_error"]);

export interface CronRetries {
  readonly maxAttempts: number;
  readonly backoffMs: readonly number[];
  /** Kinds of failures. */
  readonly retryOn?: readonly string[] | undefined;
}

/** The effect that the end of a slot has on its job. */
export interface AfterRun {
  readonly state: CronState;
  /** Whether the job stays as it is, is switched off or is removed. */
  readonly job: "stays" | "disabled" | "removed";
  /** True when the owner gets an alert about the failures. */
  readonly isAlert: boolean;
}

interface End {
  readonly job: CronJob;
  readonly state: CronState;
  readonly run: CronRun;
  readonly underway: CronUnderway;
}

/**
 * The state after the end of a slot. `job` is the job as it is now, which a person or the run itself may have changed
 * meanwhile. `alert`: the rules for alerts of the job; undefined when nobody gets one.
 */
export function afterRun(end: End, alert: CronAlert | undefined, retries: CronRetries): AfterRun {
  const { job, state, run } = end;
  const counted = { ...withoutOpen(state), ...resultOf(run, state) };
  const isAlert = alert !== undefined && needsAlert(counted, run, alert);
  const told = isAlert ? { ...counted, lastFailureAlertAtMs: run.ts } : counted;
  if (!isOwnSlot(job, end.underway)) return { state: told, job: "stays", isAlert };
  if (job.schedule.kind === "at" || job.schedule.kind === "on-exit")
    return { ...afterOnce(end, told, retries), isAlert };
  return { ...afterRepeated(run, withChoice(end, told)), isAlert };
}

/**
 * Whether a run was begun for the present schedule of its job. The end of a requested run, or of a run whose schedule
 * was changed meanwhile, decides nothing about the job.
 */
export const isOwnSlot = (job: CronJob, { isForced, scheduleRevision = job.scheduleRevision }: CronUnderway): boolean =>
  isForced !== true && scheduleRevision === job.scheduleRevision;

/** The state after a slot that was not run; earlier failures still count. */
export function afterSkip(state: CronState, run: CronRun, alert: CronAlert | undefined): Omit<AfterRun, "job"> {
  const skipped = {
    ...state,
    cursorMs: run.slotAtMs,
    lastRunStatus: run.status,
    consecutiveSkipped: (state.consecutiveSkipped ?? 0) + 1,
  };
  const isAlert = alert?.includeSkipped === true && needsAlert(skipped, run, alert);
  return { state: isAlert ? { ...skipped, lastFailureAlertAtMs: run.ts } : skipped, isAlert };
}

function withoutOpen({ underway: _underway, retry: _retry, backoffUntilMs: _backoff, ...rest }: CronState): CronState {
  return rest;
}

function resultOf(run: CronRun, { consecutiveErrors = 0 }: CronState): Partial<CronState> {
  const isError = run.status === "error";
  return {
    lastRunAtMs: run.runAtMs,
    lastRunStatus: run.status,
    ...(run.error !== undefined && { lastError: run.error }),
    ...(run.durationMs !== undefined && { lastDurationMs: run.durationMs }),
    lastDeliveryStatus: run.deliveryStatus,
    ...(run.deliveryError !== undefined && { lastDeliveryError: run.deliveryError }),
    consecutiveErrors: isError ? consecutiveErrors + 1 : 0,
    consecutiveSkipped: 0,
  };
}

function needsAlert(
  state: CronState,
  run: CronRun,
  { after = 2, cooldownMs = HOUR_MS, includeSkipped }: CronAlert,
): boolean {
  const { consecutiveErrors = 0, consecutiveSkipped = 0, lastFailureAlertAtMs = -Infinity } = state;
  const skipped = includeSkipped === true ? consecutiveSkipped : 0;
  return consecutiveErrors + skipped >= after && run.status !== "ok" && run.ts - lastFailureAlertAtMs >= cooldownMs;
}

/** Keeps the time that a run has chosen for the next one, if the run succeeded. */
function withChoice({ job: { pacing }, run, state: { underway } }: End, state: CronState): CronState {
  const chosenMs = underway?.nextCheckMs;
  if (chosenMs === undefined || !pacing || run.status !== "ok") return state;
  const min = readDuration(pacing.min ?? "") ?? 0;
  const max = readDuration(pacing.max ?? "") ?? Infinity;
  return { ...state, pacedAtMs: run.ts + Math.min(Math.max(chosenMs, min), max) };
}

function afterOnce({ job, run, underway }: End, state: CronState, retries: CronRetries): Omit<AfterRun, "isAlert"> {
  if (run.status !== "error") {
    const isRemoved = run.status === "ok" && (job.deleteAfterRun ?? job.schedule.kind === "at");
    return { state, job: isRemoved ? "removed" : "disabled" };
  }
  const { tries = 0, slotMs } = underway;
  // No later message has the event of the command, so an `on-exit` job is not tried again.
  const isOver = job.schedule.kind === "on-exit" || !isPassing(run, retries) || tries >= retries.maxAttempts;
  if (isOver) return { state, job: "disabled" };
  const pause = retries.backoffMs[tries] ?? retries.backoffMs.at(-1) ?? BACKOFF_MS[0] ?? 0;
  return { state: { ...state, retry: { slotMs, atMs: run.ts + pause, tries: tries + 1 } }, job: "stays" };
}

const isPassing = ({ errorReason = "" }: CronRun, { retryOn }: CronRetries): boolean =>
  retryOn ? retryOn.includes(errorReason) : PASSING.has(errorReason);

function afterRepeated(run: CronRun, state: CronState): Omit<AfterRun, "isAlert"> {
  const failures = state.consecutiveErrors ?? 0;
  if (run.status !== "error") return { state, job: "stays" };
  if (failures >= MOST_FAILURES) {
    const autoDisabled = { reason: "consecutive-failures", atMs: run.ts, consecutiveErrors: failures } as const;
    return { state: { ...state, autoDisabled }, job: "disabled" };
  }
  const pause = BACKOFF_MS[Math.min(failures, BACKOFF_MS.length) - 1] ?? 0;
  return { state: { ...state, backoffUntilMs: run.ts + pause }, job: "stays" };
}
