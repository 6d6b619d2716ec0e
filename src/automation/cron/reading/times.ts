import { createHash } from "node:crypto";
import { Cron } from "croner";
import type { CronSchedule } from "../../../types/cron/job.ts";

/**
 * The slots of a schedule, in epoch milliseconds. They are derived, never stored, so that they are the same after every
 * start.
 */
export interface SlotTimes {
  /** The first slot after a moment; undefined when there is none. */
  next(after: number): number | undefined;
  /** The newest slots in `(after, until]`, at most `most` of them, oldest first. */
  passed(after: number, until: number, most: number): readonly number[];
}

/** Least gap between two slots: a job whose expression matches every second runs every second second. */
const LEAST_GAP_MS = 2000;
/** Window over which jobs of a full hour are spread when they set no window. */
const FULL_HOUR_WINDOW_MS = 5 * 60_000;
const FIELDS = /^\S+(?:\s+\S+){4,5}$/;
/** Short names such as `@daily`. */
const NICKNAME = /^@[a-z]+$/i;
/** Minute 0 of hours that a wildcard or a step chooses, with or without a field for seconds before it. */
const FULL_HOUR = /^(?:0\s+)?0\s+\*\S*\s+\S+\s+\S+\s+\S+$|^@hourly$/i;

/** The slots of a schedule. Throws an `Error` that names the fault of the schedule. */
export function slotTimes(schedule: CronSchedule, jobId: string): SlotTimes {
  switch (schedule.kind) {
    case "at":
      return once(Date.parse(schedule.at));
    case "every":
      return grid(schedule.anchorMs, schedule.everyMs);
    case "cron":
      return calendar(schedule, staggerOf(schedule, jobId));
    case "on-exit":
    case "stream":
      return NEVER;
  }
}

/** Slots of a job that begins by an event. */
const NEVER: SlotTimes = { next: () => undefined, passed: () => [] };

function once(slot: number): SlotTimes {
  return {
    next: (after) => (slot > after ? slot : undefined),
    passed: (after, until) => (slot > after && slot <= until ? [slot] : []),
  };
}

function grid(anchor: number, every: number): SlotTimes {
  const next = (after: number) =>
    after < anchor ? anchor : anchor + (Math.floor((after - anchor) / every) + 1) * every;
  return {
    next,
    passed(after, until, most) {
      if (until < anchor) return [];
      const latest = anchor + Math.floor((until - anchor) / every) * every;
      const slots = Array.from({ length: most }, (_, index) => latest - index * every);
      return slots.filter((slot) => slot > after && slot >= anchor).toReversed();
    },
  };
}

function calendar({ expr, tz }: Extract<CronSchedule, { kind: "cron" }>, staggerMs: number): SlotTimes {
  const cron = readExpression(expr, tz);
  const hasSeconds = expr.trim().split(/\s+/).length === 6;
  const gap = hasSeconds ? LEAST_GAP_MS - 1000 : 0;
  // The slot after the newest one is asked for several times, and takes 0.04 ms each.
  let last: { readonly after: number; readonly slot: number | undefined } | undefined;
  const next = (after: number): number | undefined => {
    if (last?.after === after) return last.slot;
    const found = cron.nextRun(new Date(after + gap - staggerMs))?.getTime();
    const slot = found === undefined ? undefined : found + staggerMs;
    last = { after, slot };
    return slot;
  };
  /** The newest slots. Costs as much for a month of slots as for a few. */
  const newest = (after: number, until: number, most: number): readonly number[] => {
    // The library returns runs that lie strictly before a whole second.
    const before = new Date(Math.floor((until - staggerMs) / 1000) * 1000 + 1000);
    const slots = cron.previousRuns(most, before).map((date) => date.getTime() + staggerMs);
    return slots.filter((slot) => slot > after + gap && slot <= until).toReversed();
  };
  return {
    next,
    passed(after, until, most) {
      const slots: number[] = [];
      for (let at = next(after); at !== undefined && at <= until; at = next(at)) {
        if (slots.length === most) return newest(after, until, most);
        slots.push(at);
      }
      return slots;
    },
  };
}

function readExpression(expr: string, timezone: string): Cron {
  if (!FIELDS.test(expr.trim()) && !NICKNAME.test(expr.trim()))
    throw new Error(`"${expr}" is no cron expression: write five fields, or six with seconds first`);
  try {
    const cron = new Cron(expr.trim(), { timezone, paused: true });
    cron.nextRun(new Date(0));
    return cron;
  } catch (error) {
    const why = error instanceof Error ? error.message.replace(/^CronPattern: /, "") : String(error);
    throw new Error(`"${expr}" in ${timezone} is no cron expression: ${why}`, { cause: error });
  }
}

/**
 * Milliseconds by which a job's slots lie after the times of its expression: always the same for a job, in whole
 * seconds, and less than the window. Jobs of a full hour without a window are spread over five minutes, so that not all
 * of them begin at once.
 */
function staggerOf(schedule: Extract<CronSchedule, { kind: "cron" }>, jobId: string): number {
  const window = schedule.staggerMs ?? (FULL_HOUR.test(schedule.expr.trim()) ? FULL_HOUR_WINDOW_MS : 0);
  const seconds = Math.floor(window / 1000);
  if (seconds === 0) return 0;
  return (createHash("sha256").update(jobId).digest().readUInt32BE(0) % seconds) * 1000;
}
