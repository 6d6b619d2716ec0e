import type { Answers } from "openclaw/plugin-sdk/answers";
import { t } from "../words/words.ts";

type Schedule = Answers["cron.list"]["jobs"][number]["schedule"];

export const SCHEDULE_KINDS = ["days", "every", "at", "cron"] as const;
export type ScheduleKind = (typeof SCHEDULE_KINDS)[number];

/** When a job is due, as a person writes it in a form. */
export interface ScheduleDraft {
  readonly kind: ScheduleKind;
  /** Of `days`: `*` for all, `1-5`, or one day of the week from 0, Sunday. */
  readonly days: string;
  /** Of `days`: `HH:MM`. */
  readonly time: string;
  /** Of `every`: how many of its unit. */
  readonly count: string;
  readonly unit: string;
  /** Of `at`: as a field for a date and a time has it, in the zone of the browser. */
  readonly at: string;
  /** Of `cron`: the expression. */
  readonly expr: string;
}

/** Milliseconds of the units of `every`. */
export const UNITS: Readonly<Record<string, number>> = { minutes: 60_000, hours: 3_600_000, days: 86_400_000 };

export const NEW_SCHEDULE: ScheduleDraft = {
  kind: "days",
  days: "*",
  time: "09:00",
  count: "1",
  unit: "hours",
  at: "",
  expr: "0 9 * * 1",
};

const DAYS = /^(\d{1,2}) (\d{1,2}) \* \* (\*|1-5|[0-6])$/;

/** The form for a schedule; undefined for a kind that no form has. */
export function scheduleDraft(schedule: Schedule): ScheduleDraft | undefined {
  switch (schedule.kind) {
    case "at":
      return { ...NEW_SCHEDULE, kind: "at", at: fieldTime(new Date(schedule.at)) };
    case "every": {
      const ms = Number(schedule.everyMs);
      const unit = Object.keys(UNITS).findLast((name) => ms % (UNITS[name] ?? 1) === 0);
      return unit === undefined
        ? undefined
        : { ...NEW_SCHEDULE, kind: "every", unit, count: String(ms / (UNITS[unit] ?? 1)) };
    }
    case "cron": {
      const [, minute, hour, days] = DAYS.exec(schedule.expr) ?? [];
      if (minute === undefined || hour === undefined || days === undefined)
        return { ...NEW_SCHEDULE, kind: "cron", expr: schedule.expr };
      return { ...NEW_SCHEDULE, kind: "days", days, time: `${hour.padStart(2, "0")}:${minute.padStart(2, "0")}` };
    }
    default:
      return undefined;
  }
}

/** As a field for a date and a time takes it. */
export function fieldTime(at: Date): string {
  const shifted = new Date(at.getTime() - at.getTimezoneOffset() * 60_000);
  return shifted.toISOString().slice(0, 16);
}

type Read = { readonly schedule: Record<string, unknown> } | { readonly problem: string };

/** The schedule of a form in the words of the protocol, or why it is none. `zone`: an IANA name. */
export function scheduleOf(draft: ScheduleDraft, zone: string): Read {
  switch (draft.kind) {
    case "days": {
      const [, hour, minute] = /^(\d{2}):(\d{2})/.exec(draft.time) ?? [];
      if (hour === undefined || minute === undefined) return { problem: t("Choose a time of the day.") };
      return {
        schedule: { kind: "cron", expr: `${Number(minute)} ${Number(hour)} * * ${draft.days}`, tz: zone },
      };
    }
    case "every": {
      const count = Number(draft.count);
      if (!Number.isInteger(count) || count < 1) return { problem: t("Enter a whole number from 1.") };
      return { schedule: { kind: "every", everyMs: count * (UNITS[draft.unit] ?? 0) } };
    }
    case "at": {
      const at = new Date(draft.at);
      if (Number.isNaN(at.getTime())) return { problem: t("Choose a date and a time.") };
      return { schedule: { kind: "at", at: at.toISOString() } };
    }
    case "cron":
      if (draft.expr.trim() === "") return { problem: t("Enter an expression of cron.") };
      return { schedule: { kind: "cron", expr: draft.expr.trim(), tz: zone } };
  }
}
