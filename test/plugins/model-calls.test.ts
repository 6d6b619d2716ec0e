import { expect, test } from "vitest";
import { ModelCalls } from "../../src/plugins/api/model-calls.ts";
import { manualClock } from "../kit/clock.ts";
import { until } from "../kit/until.ts";

function open() {
  const clock = manualClock();
  const unload = new AbortController();
  const calls = new ModelCalls({ id: "loopy", clock, signal: unload.signal });
  return { clock, unload, calls };
}

test("a plugin that repeats calls which fail at once lets others work, also when it is unloaded", async () => {
  const { clock, unload, calls } = open();
  const errors: string[] = [];
  let isOver = false;
  const loop = async (): Promise<void> => {
    while (!isOver)
      await calls.run(() => Promise.reject(new Error("refused"))).catch((error) => errors.push(error.message));
  };
  const looping = loop();
  // A loop that is never rejected later than at once would not let this timer go off.
  await until(() => clock.waits.includes(100));
  expect(errors).toEqual([]);
  clock.pass(100);
  await until(() => errors.length === 1);
  unload.abort();
  clock.pass(100);
  await until(() => errors.length === 2);
  isOver = true;
  await until(() => clock.waits.length > 0);
  clock.pass(100);
  await looping;
  expect(errors).toEqual(["refused", "refused", "the plugin loopy is not loaded any more"]);
});

test("of very many model calls of a plugin eight run at one time, two hundred wait, and the others are refused", async () => {
  const { clock, calls } = open();
  const ends: (() => void)[] = [];
  let most = 0;
  let running = 0;
  const call = async (): Promise<string> => {
    most = Math.max(most, ++running);
    await new Promise<void>((resolve) => ends.push(resolve));
    running--;
    return "said";
  };
  const all = Array.from({ length: 300 }, () => calls.run(call).catch((error: Error) => error.message));
  await until(() => clock.waits.length === 92);
  clock.pass(100);
  for (let count = 0; count < 208; count++) {
    await until(() => ends.length > count);
    ends[count]?.();
  }
  const answers = await Promise.all(all);
  expect(answers.filter((answer) => answer === "said")).toHaveLength(208);
  expect(new Set(answers)).toEqual(
    new Set(["said", "Plugin LLM completion refused: 200 model calls of loopy are waiting already."]),
  );
  expect(most).toBe(8);
});
