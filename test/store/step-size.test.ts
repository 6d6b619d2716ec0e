import { expect, it } from "vitest";
import { StepSize } from "../../src/store/step-size.ts";

/** The sizes of steps that take so many milliseconds for each row. */
function sizes(steps: StepSize, msEach: readonly number[]): number[] {
  return msEach.map((ms) => {
    steps.took(steps.size, steps.size * ms);
    return steps.size;
  });
}

it("takes as many rows as fit into the time of a step, growing slowly and shrinking at once", () => {
  const steps = new StepSize({ least: 10, most: 100, ms: 2 });
  expect(steps.size).toBe(10);
  expect(sizes(steps, [0, 0.01, 0.01, 0.01])).toEqual([20, 40, 80, 100]);
  expect(sizes(steps, [0.1, 0.1, 1])).toEqual([20, 20, 10]);
});
