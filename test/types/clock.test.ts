import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { systemClock } from "../../src/types/clock.ts";

const DAY_MS = 86_400_000;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it("calls after its time, also where that is longer than a timer can be", () => {
  const called: string[] = [];
  systemClock.after(1000, () => called.push("second"));
  systemClock.after(60 * DAY_MS, () => called.push("months"));
  systemClock.after(Infinity, () => called.push("never"));
  vi.advanceTimersByTime(999);
  expect(called).toEqual([]);
  vi.advanceTimersByTime(60 * DAY_MS - 1000);
  expect(called).toEqual(["second"]);
  vi.advanceTimersByTime(1);
  expect(called).toEqual(["second", "months"]);
});

it("forgets what is not wanted any more, in each part of a long time", () => {
  const called: string[] = [];
  const forget = systemClock.after(60 * DAY_MS, () => called.push("x"));
  vi.advanceTimersByTime(40 * DAY_MS);
  forget();
  vi.advanceTimersByTime(40 * DAY_MS);
  expect(called).toEqual([]);
  expect(vi.getTimerCount()).toBe(0);
});
