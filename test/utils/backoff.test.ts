import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { backoff } from "../../src/utils/backoff.ts";

describe("the wait before the next try", () => {
  it("doubles up to its bound, and is never shorter than half of that", () => {
    fc.assert(
      fc.property(
        fc.nat(2000),
        fc.integer({ min: 1, max: 5000 }),
        fc.integer({ min: 1, max: 600_000 }),
        (failures, firstMs, longestMs) => {
          const full = Math.min(longestMs, firstMs * 2 ** Math.min(failures, 16));
          const ms = backoff(failures, { firstMs, longestMs });
          expect(ms).toBeGreaterThanOrEqual(Math.floor(full / 2));
          expect(ms).toBeLessThanOrEqual(full);
        },
      ),
    );
  });

  it("is half a second at first and half a minute at most", () => {
    const drawn = (failures: number) => Array.from({ length: 200 }, () => backoff(failures));
    expect(Math.max(...drawn(0))).toBeLessThanOrEqual(500);
    expect(Math.min(...drawn(50))).toBeGreaterThanOrEqual(15_000);
    expect(Math.max(...drawn(50))).toBeLessThanOrEqual(30_000);
  });

  it("differs, so that many who lost the same server do not come back at once", () => {
    const drawn = Array.from({ length: 1000 }, () => backoff(6));
    expect(new Set(drawn).size).toBeGreaterThan(500);
    const spread = Math.max(...drawn) - Math.min(...drawn);
    expect(spread).toBeGreaterThan(10_000);
  });
});
