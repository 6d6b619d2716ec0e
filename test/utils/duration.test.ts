import { expect, it } from "vitest";
import { readDuration } from "../../src/utils/time/duration.ts";

it("reads how long something takes, in the field's ways of writing it", () => {
  for (const [text, ms] of [
    ["5m", 300_000],
    ["5", 300_000],
    ["90s", 90_000],
    ["1h30m", 5_400_000],
    ["1.5H", 5_400_000],
    ["2d", 172_800_000],
    ["250ms", 250],
    ["0s", 0],
  ] as const)
    expect(readDuration(text), text).toBe(ms);
  for (const text of ["", "m", "5 minutes", "-5m", "1h30", "5mm"]) expect(readDuration(text), text).toBeUndefined();
});
