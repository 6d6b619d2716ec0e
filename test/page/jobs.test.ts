import { describe, expect, test } from "vitest";
import { scheduleDraft, fieldTime, NEW_SCHEDULE, scheduleOf } from "../../extensions/webchat/page/jobs/schedule.ts";

const ZONE = "Europe/Vienna";

describe("the schedule of a job's form", () => {
  test.each([
    [
      { kind: "days", days: "1-5", time: "08:05" },
      { kind: "cron", expr: "5 8 * * 1-5", tz: ZONE },
    ],
    [
      { kind: "days", days: "*", time: "00:00" },
      { kind: "cron", expr: "0 0 * * *", tz: ZONE },
    ],
    [
      { kind: "every", count: "90", unit: "minutes" },
      { kind: "every", everyMs: 5_400_000 },
    ],
    [
      { kind: "every", count: "2", unit: "days" },
      { kind: "every", everyMs: 172_800_000 },
    ],
    [
      { kind: "cron", expr: " */7 * * * * " },
      { kind: "cron", expr: "*/7 * * * *", tz: ZONE },
    ],
  ] as const)("%j", (part, schedule) => {
    const draft = { ...NEW_SCHEDULE, ...part };
    expect(scheduleOf(draft, ZONE)).toEqual({ schedule });
  });

  test("is the form again", () => {
    const at = new Date("2026-12-24T17:30:00.000Z");
    for (const part of [
      { kind: "days", days: "0", time: "23:59" },
      { kind: "every", count: "3", unit: "hours" },
      { kind: "at", at: fieldTime(at) },
      { kind: "cron", expr: "0 9 1 * *" },
    ] as const) {
      const draft = { ...NEW_SCHEDULE, ...part };
      const read = scheduleOf(draft, ZONE);
      expect("schedule" in read && scheduleDraft(read.schedule as Parameters<typeof scheduleDraft>[0])).toEqual(draft);
    }
    expect(scheduleOf({ ...NEW_SCHEDULE, kind: "at", at: fieldTime(at) }, ZONE)).toEqual({
      schedule: { kind: "at", at: "2026-12-24T17:30:00.000Z" },
    });
  });

  test.each([
    { kind: "days", time: "" },
    { kind: "every", count: "0" },
    { kind: "every", count: "1.5" },
    { kind: "at", at: "" },
    { kind: "cron", expr: " " },
  ] as const)("says what is missing: %j", (part) => {
    expect(scheduleOf({ ...NEW_SCHEDULE, ...part }, ZONE)).toHaveProperty("problem");
  });

  test("is none for jobs that no form has", () => {
    expect(scheduleDraft({ kind: "on-exit", command: "sleep 1" })).toBeUndefined();
    expect(scheduleDraft({ kind: "every", everyMs: 90_000, anchorMs: 0 })).toBeUndefined();
  });
});
