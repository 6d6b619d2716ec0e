import type { CronJob } from "../../types/cron/job.ts";
import type { CronState } from "../../types/cron/run.ts";
import type { SlotTimes } from "./reading/times.ts";

/** Next step for a job at a moment. */
export type Due =
  /** Nothing is due until `untilMs`; never when undefined. */
  | { readonly kind: "wait"; readonly untilMs: number | undefined }
  | { readonly kind: "run"; readonly slotMs: number; readonly lateMs: number; readonly tries: number }
  /** Slots that are over. `slotMs` is the newest of them, `fromMs` the oldest if there are several. */
  | { readonly kind: "skip"; readonly slotMs: number; readonly fromMs?: number; readonly why: string };

type Planned = Pick<CronJob, "enabled" | "schedule" | "missed" | "graceSeconds">;

/** State of a job beside its settings. */
export interface SlotState {
  readonly state: CronState;
  readonly times: SlotTimes;
  /** True when repeated jobs without a rule for missed slots skip them. */
  readonly skipsMissed: boolean;
}

const GRACE_SECONDS = 120;
/** Number of missed slots that are run one after the other; older ones are skipped. */
const MOST_MISSED = 20;
/** Milliseconds of a day, less the hour that a change to summer time takes. */
const ALMOST_DAY_MS = 23 * 3_600_000;

/** Decides the oldest open question about a job's slots. The caller carries the decision out, then calls again. */
export function decideSlot(job: Planned, considered: SlotState, now: number): Due {
  const due = decided(job, considered, now);
  if (due.kind !== "skip") return due;
  const { state, times } = considered;
  const fromMs = times.next(state.cursorMs);
  return fromMs === undefined || fromMs >= due.slotMs ? due : { ...due, fromMs };
}

function decided(job: Planned, { state, times, skipsMissed }: SlotState, now: number): Due {
  if (!job.enabled) return { kind: "wait", untilMs: undefined };
  const { retry, underway, cursorMs } = state;
  if (retry && !underway) return retryOf(retry, now);
  if (state.pacedAtMs !== undefined && !underway) return pacedOf(state.pacedAtMs, now);
  const slots = times.passed(cursorMs, now, MOST_MISSED);
  const latest = slots.at(-1);
  if (latest === undefined) return { kind: "wait", untilMs: underway ? undefined : times.next(cursorMs) };
  // Each missed slot is run after the end of the run before.
  if (underway && job.missed === "all") return { kind: "wait", untilMs: undefined };
  return underway ? whileUnderway(job, slots, now) : passed(job, { slots, latest, state, times, skipsMissed }, now);
}

function retryOf({ slotMs, atMs, tries }: NonNullable<CronState["retry"]>, now: number): Due {
  return atMs > now ? { kind: "wait", untilMs: atMs } : { kind: "run", slotMs, lateMs: now - slotMs, tries };
}

/** The step for a time that a run has chosen. Such a time is never missed: the run comes late. */
const pacedOf = (slotMs: number, now: number): Due =>
  slotMs > now ? { kind: "wait", untilMs: slotMs } : { kind: "run", slotMs, lateMs: now - slotMs, tries: 0 };

/** The step while a run is active: a slot whose grace is over before that run ends is skipped. */
function whileUnderway(job: Planned, slots: readonly number[], now: number): Due {
  const grace = graceOf(job);
  const over = slots.findLast((slot) => now - slot > grace);
  if (over !== undefined) return { kind: "skip", slotMs: over, why: "the previous run was still active" };
  return { kind: "wait", untilMs: Math.min(...slots) + grace + 1 };
}

interface Passed extends SlotState {
  readonly slots: readonly number[];
  readonly latest: number;
}

function passed(job: Planned, { slots, latest, state, times, skipsMissed }: Passed, now: number): Due {
  const { backoffUntilMs = 0, consecutiveErrors = 0 } = state;
  if (latest < backoffUntilMs) {
    const until = new Date(backoffUntilMs).toISOString();
    return {
      kind: "skip",
      slotMs: latest,
      why: `it failed ${consecutiveErrors} times in a row and waits until ${until}`,
    };
  }
  const run = (slotMs: number): Due => ({ kind: "run", slotMs, lateMs: now - slotMs, tries: 0 });
  const skip = (slotMs: number): Due => ({
    kind: "skip",
    slotMs,
    why: "it was missed: the gateway could not run it in time",
  });
  const [oldest = latest] = slots;
  const policy = job.missed ?? defaultMissed(job, latest, { times, skipsMissed });
  if (policy === "all")
    return slots.length < MOST_MISSED ? run(oldest) : (olderThan(oldest, { state, times }) ?? run(oldest));
  const isRun = now - latest <= graceOf(job) || policy === "once";
  if (!isRun) return skip(latest);
  const before = slots.at(-2);
  return before === undefined ? run(latest) : skip(before);
}

/** Skips slots before the oldest one that is still run. */
function olderThan(oldest: number, { state, times }: Pick<Passed, "state" | "times">): Due | undefined {
  const slotMs = times.passed(state.cursorMs, oldest - 1, 1).at(-1);
  const why = `it was missed, and only the newest ${MOST_MISSED} missed ones are run`;
  return slotMs === undefined ? undefined : { kind: "skip", slotMs, why };
}

/**
 * The rule for missed slots of a job that has none: a slot whose successor comes a day later or never is run late,
 * another is skipped.
 */
function defaultMissed(
  { schedule }: Planned,
  latest: number,
  { times, skipsMissed }: Pick<SlotState, "times" | "skipsMissed">,
): NonNullable<CronJob["missed"]> {
  if (schedule.kind === "at") return "once";
  if (skipsMissed) return "skip";
  const next = times.next(latest);
  return next === undefined || next - latest >= ALMOST_DAY_MS ? "once" : "skip";
}

export const graceOf = ({ graceSeconds = GRACE_SECONDS }: Pick<CronJob, "graceSeconds">): number => graceSeconds * 1000;
