import { expect, test } from "vitest";
import { pause, wait } from "../../src/utils/pause.ts";
import { manualClock } from "../kit/clock.ts";

test("a pause that begins after the abort is over at once, and sets no timer", async () => {
  const clock = manualClock();
  await pause(60_000, { clock, signal: AbortSignal.abort() });
  expect(clock.waits).toEqual([]);
});

test("an abort ends a pause, and forgets its timer", async () => {
  const clock = manualClock();
  const stop = new AbortController();
  const paused = pause(60_000, { clock, signal: stop.signal });
  stop.abort();
  await paused;
  expect(clock.waits).toEqual([]);
});

test("without an abort a pause takes its time", async () => {
  const clock = manualClock();
  let isOver = false;
  const paused = pause(1000, { clock, signal: new AbortController().signal }).then(() => (isOver = true));
  clock.pass(999);
  await Promise.resolve();
  expect(isOver).toBe(false);
  clock.pass(1);
  await paused;
});

test("a wait by the system's clock ends with the signal", async () => {
  const stop = new AbortController();
  const ended = wait(60_000, stop.signal);
  stop.abort();
  await expect(ended).resolves.toBeUndefined();
  await expect(wait(60_000, stop.signal)).resolves.toBeUndefined();
});
