import { expect, test } from "vitest";
import { within, withinTold } from "../../src/utils/within.ts";
import { manualClock } from "../kit/clock.ts";

test("work in time counts as done, and its error is the caller's", async () => {
  const clock = manualClock();
  const told: unknown[] = [];
  expect(await within(Promise.resolve(1), 10, clock)).toBe(true);
  expect(await withinTold(Promise.resolve(1), 10, clock, (error) => told.push(error))).toBe(true);
  await expect(withinTold(Promise.reject(new Error("no")), 10, clock, (error) => told.push(error))).rejects.toThrow(
    "no",
  );
  expect([told, clock.waits]).toEqual([[], []]);
});

test("an error after the time is told, once", async () => {
  const clock = manualClock();
  const work = Promise.withResolvers<void>();
  const told = Promise.withResolvers<unknown>();
  const done = withinTold(work.promise, 10, clock, told.resolve);
  clock.pass(10);
  expect(await done).toBe(false);
  work.reject(new Error("too late"));
  expect(await told.promise).toEqual(new Error("too late"));
});
