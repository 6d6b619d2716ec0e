import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { limitResetIn, retryAfterIn } from "../../src/providers/waits.ts";

describe("a header that asks to wait", () => {
  const now = Date.UTC(2026, 10, 21);

  it.each([
    ["retry-after", "34s", 34_000],
    ["retry-after", "0", 0],
    ["retry-after", "-5", undefined],
    ["retry-after", "soon", undefined],
    ["x-ms-retry-after-ms", "250", 250],
  ])("%s: %s", (name, value, ms) => {
    expect(retryAfterIn(new Map([[name, value]]), now)).toBe(ms);
  });

  it.each([
    [
      { "anthropic-ratelimit-tokens-reset": "2026-11-21T00:00:30Z", "anthropic-ratelimit-tokens-remaining": "0" },
      30_000,
    ],
    [{ "anthropic-ratelimit-unified-reset": String(now / 1000 + 60) }, 60_000],
    [{ "x-ratelimit-reset": String(now + 5000), "x-ratelimit-remaining": "0" }, 5000],
    [{ "x-ratelimit-reset-tokens": "2m59.56s", "x-ratelimit-remaining-tokens": "0" }, 179_560],
    [{ "x-ratelimit-reset-tokens": "20ms", "x-ratelimit-remaining-tokens": "15" }, undefined],
    [
      {
        "x-ratelimit-reset-tokens": "20ms",
        "x-ratelimit-remaining-tokens": "15",
        "x-ratelimit-reset-requests": "1h",
        "x-ratelimit-remaining-requests": "0",
      },
      3_600_000,
    ],
  ])("%j", (headers, ms) => {
    expect(limitResetIn(new Map(Object.entries(headers)), now)).toBe(ms);
  });

  it("is never a wait into the past", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.date().map(String), fc.double().map(String)), (value) => {
        for (const name of ["retry-after", "retry-after-ms", "x-ratelimit-reset"]) {
          const headers = new Map([[name, value]]);
          const ms = retryAfterIn(headers, now) ?? limitResetIn(headers, now) ?? 0;
          expect(ms).toBeGreaterThanOrEqual(0);
        }
      }),
    );
  });
});
