import { describe, expect, it } from "vitest";
import { failedBecause } from "../../../src/harness/compaction/compaction-failure.ts";

describe("a compaction that an overflow called for", () => {
  it.each(["small", "unchanged"] as const)("was not tried, so that it did not fail (%s)", (because) => {
    expect(failedBecause({ kind: "nothing", because })).toBeUndefined();
  });

  it.each([
    ["no_gain", "would not have been shorter"],
    ["no_model", "no model is available"],
    ["no_engine", "its context engine is not available"],
  ] as const)("failed and says why (%s)", (because, words) => {
    expect(failedBecause({ kind: "nothing", because })).toContain(words);
  });

  it("failed in the words of the engine that saw to it", () => {
    expect(failedBecause({ kind: "nothing", because: "unchanged", reason: "the index is gone" })).toBe(
      "the context engine compacted nothing: the index is gone",
    );
  });
});
