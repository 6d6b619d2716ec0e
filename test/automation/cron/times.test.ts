import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { slotTimes } from "../../../src/automation/cron/reading/times.ts";
import { readTime } from "../../../src/automation/cron/reading/local-time.ts";
import type { CronSchedule } from "../../../src/types/cron/job.ts";

const VIENNA = "Europe/Vienna";
const iso = (times: readonly (number | undefined)[]) => times.map((at) => at && new Date(at).toISOString());
const cron = (expr: string, more: { tz?: string; staggerMs?: number } = {}): CronSchedule => ({
  kind: "cron",
  expr,
  tz: VIENNA,
  staggerMs: 0,
  ...more,
});

function next(schedule: CronSchedule, from: string, count = 3): (string | undefined)[] {
  const times = slotTimes(schedule, "job");
  const found: number[] = [];
  for (let at = times.next(Date.parse(from)); at !== undefined && found.length < count; at = times.next(at))
    found.push(at);
  return iso(found) as string[];
}

describe("the slots of a schedule", () => {
  it("are one for a single time", () => {
    const schedule: CronSchedule = { kind: "at", at: "2026-12-24T17:00:00.000Z" };
    expect(next(schedule, "2026-12-01T00:00:00Z")).toEqual(["2026-12-24T17:00:00.000Z"]);
    expect(next(schedule, "2026-12-24T17:00:00Z")).toEqual([]);
  });

  it("lie on a grid from the anchor", () => {
    const schedule: CronSchedule = { kind: "every", everyMs: 3_600_000, anchorMs: Date.parse("2026-12-01T00:20:00Z") };
    expect(next(schedule, "2026-12-01T03:00:00Z", 2)).toEqual(["2026-12-01T03:20:00.000Z", "2026-12-01T04:20:00.000Z"]);
    expect(next(schedule, "2026-11-01T00:00:00Z", 1)).toEqual(["2026-12-01T00:20:00.000Z"]);
  });

  it.each([
    ["30 2 * * *", "2026-03-28T12:00:00Z", ["2026-03-29T01:00:00.000Z", "2026-03-30T00:30:00.000Z"]],
    ["*/30 2 * * *", "2026-03-28T12:00:00Z", ["2026-03-30T00:00:00.000Z", "2026-03-30T00:30:00.000Z"]],
    ["30 2 * * *", "2026-10-24T12:00:00Z", ["2026-10-25T00:30:00.000Z", "2026-10-26T01:30:00.000Z"]],
    [
      "*/30 2 * * *",
      "2026-10-24T12:00:00Z",
      ["2026-10-25T00:00:00.000Z", "2026-10-25T00:30:00.000Z", "2026-10-25T01:00:00.000Z"],
    ],
    ["0 9 15 * 1", "2026-11-10T00:00:00Z", ["2026-11-15T08:00:00.000Z", "2026-11-16T08:00:00.000Z"]],
    ["0 9 15 * +1", "2026-05-01T00:00:00Z", ["2026-06-15T07:00:00.000Z"]],
    ["0 0 29 2 *", "2026-01-01T00:00:00Z", ["2028-02-28T23:00:00.000Z"]],
    ["*/10 * * * * *", "2026-01-01T00:00:00Z", ["2026-01-01T00:00:10.000Z"]],
    ["* * * * * *", "2026-01-01T00:00:00Z", ["2026-01-01T00:00:02.000Z", "2026-01-01T00:00:04.000Z"]],
    ["@daily", "2026-01-01T00:00:00Z", ["2026-01-01T23:00:00.000Z"]],
    ["0 9 31 2 *", "2026-01-01T00:00:00Z", []],
  ])("of %s after %s", (expr, from, wanted) => {
    expect(next(cron(expr), from, wanted.length || 1)).toEqual(wanted);
  });

  it.each(["61 * * * *", "1 2 3", "tomorrow", "2099-01-01T00:00:00", ""])("are not made of %j", (expr) => {
    expect(() => slotTimes(cron(expr), "job")).toThrow(/no cron expression/);
  });

  it("of full hours are spread by the job's id, and exactly so with a stagger of 0", () => {
    const spread = (id: string) => slotTimes({ kind: "cron", expr: "0 * * * *", tz: VIENNA }, id).next(0)! % 3_600_000;
    const all = Array.from({ length: 50 }, (_, index) => spread(`job-${index}`));
    expect(new Set(all).size).toBeGreaterThan(30);
    expect(Math.max(...all)).toBeLessThan(300_000);
    expect(spread("job-1")).toBe(spread("job-1"));
    expect(slotTimes(cron("0 * * * *"), "x").next(0)! % 3_600_000).toBe(0);
  });

  it("that have passed are the same as those that come, whatever the schedule", () => {
    const schedules = fc.constantFrom<CronSchedule>(
      cron("*/7 * * * *"),
      cron("30 2 * * *"),
      cron("0 9 1 * *", { staggerMs: 600_000 }),
      { kind: "every", everyMs: 5_400_000, anchorMs: 1_700_000_000_123 },
      { kind: "at", at: "2026-03-29T01:00:00.000Z" },
    );
    const from = fc.integer({ min: Date.parse("2026-03-27T00:00:00Z"), max: Date.parse("2026-03-31T00:00:00Z") });
    fc.assert(
      fc.property(schedules, from, fc.integer({ min: 0, max: 3_600_000 }), (schedule, start, length) => {
        const times = slotTimes(schedule, "job");
        const coming: number[] = [];
        for (let at = times.next(start); at !== undefined && at <= start + length; at = times.next(at)) coming.push(at);
        expect(times.passed(start, start + length, 60)).toEqual(coming);
      }),
      { numRuns: 40 },
    );
  });
});

describe("a time that somebody writes", () => {
  it("without an offset is one of the zone", () => {
    expect(iso([readTime("2026-12-24T18:00", VIENNA)])).toEqual(["2026-12-24T17:00:00.000Z"]);
    expect(iso([readTime("2026-12-24", "UTC")])).toEqual(["2026-12-24T00:00:00.000Z"]);
    expect(iso([readTime("2026-12-24T18:00:00+05:00", VIENNA)])).toEqual(["2026-12-24T13:00:00.000Z"]);
  });

  it("that occurs twice is the first, and one that the clocks skip is refused", () => {
    expect(iso([readTime("2026-10-25T02:30", VIENNA)])).toEqual(["2026-10-25T00:30:00.000Z"]);
    expect(() => readTime("2026-03-29T02:30", VIENNA)).toThrow("does not exist in Europe/Vienna");
    for (const text of ["2026-02-30T10:00", "noon", "24:00"])
      expect(() => readTime(text, VIENNA)).toThrow("is no time");
  });
});
