import fc from "fast-check";
import { expect, it } from "vitest";
import { SeenWindows } from "../../../src/providers/usage-windows.ts";

const now = Date.UTC(2026, 10, 21);
function read(headers: Readonly<Record<string, string>>) {
  const seen = new SeenWindows({ now: () => now });
  seen.note({ provider: "p", profileId: "one" }, new Map(Object.entries(headers)));
  return seen.list().flatMap(({ windows }) => windows);
}

it.each([
  [
    {
      "x-ratelimit-limit-requests": "200",
      "x-ratelimit-remaining-requests": "150",
      "x-ratelimit-reset-requests": "6m0s",
    },
    [{ label: "requests", usedPercent: 25, resetAt: now + 360_000 }],
  ],
  [
    {
      "anthropic-ratelimit-input-tokens-limit": "1000",
      "anthropic-ratelimit-input-tokens-remaining": "0",
      "anthropic-ratelimit-input-tokens-reset": "2026-11-21T00:00:30Z",
    },
    [{ label: "input tokens", usedPercent: 100, resetAt: now + 30_000 }],
  ],
  [
    {
      "anthropic-ratelimit-unified-5h-utilization": "0.315",
      "anthropic-ratelimit-unified-5h-reset": String(now / 1000 + 60),
      "anthropic-ratelimit-unified-7d-utilization": "0.02",
      "anthropic-ratelimit-unified-status": "allowed",
    },
    [
      { label: "5h", usedPercent: 31.5, resetAt: now + 60_000 },
      { label: "7d", usedPercent: 2 },
    ],
  ],
  [
    {
      "x-codex-primary-used-percent": "12",
      "x-codex-primary-window-minutes": "300",
      "x-codex-primary-reset-after-seconds": "90",
      "x-codex-secondary-used-percent": "7.5",
      "x-codex-secondary-window-minutes": "10080",
    },
    [
      { label: "5h", usedPercent: 12, resetAt: now + 90_000 },
      { label: "7d", usedPercent: 7.5 },
    ],
  ],
  [{ "ratelimit-limit": "10", "ratelimit-remaining": "4" }, [{ label: "requests", usedPercent: 60 }]],
  [{ "x-ratelimit-limit-tokens": "0", "x-ratelimit-remaining-tokens": "0" }, []],
  [{ "x-ratelimit-limit-tokens": "10" }, []],
  [{ "x-ratelimit-limit-<b>": "10", "x-ratelimit-remaining-<b>": "1" }, []],
  [{ "retry-after": "5" }, []],
])("the limits in %j", (headers, windows) => {
  expect(read(headers)).toEqual(windows);
});

it("are percentages, whatever a server sends", () => {
  const name = fc.constantFrom(
    "x-ratelimit-limit-a",
    "x-ratelimit-remaining-a",
    "x-ratelimit-reset-a",
    "anthropic-ratelimit-unified-5h-utilization",
    "anthropic-ratelimit-unified-5h-reset",
    "x-codex-primary-used-percent",
    "x-codex-primary-window-minutes",
  );
  const value = fc.oneof(fc.string(), fc.double().map(String), fc.integer().map(String));
  fc.assert(
    fc.property(fc.dictionary(name, value), (headers) => {
      for (const { usedPercent, resetAt = now } of read(headers)) {
        expect(usedPercent).toBeGreaterThanOrEqual(0);
        expect(usedPercent).toBeLessThanOrEqual(100);
        expect(resetAt).toBeGreaterThanOrEqual(now);
      }
    }),
  );
});

it("are kept for each key until they end", () => {
  const clock = { at: now, now: () => clock.at };
  const seen = new SeenWindows(clock);
  const key = { provider: "p", profileId: "p:one" };
  const limits = (left: string) =>
    new Map([
      ["x-ratelimit-limit-requests", "10"],
      ["x-ratelimit-remaining-requests", left],
      ["x-ratelimit-reset-requests", "60s"],
    ]);
  seen.note(key, limits("9"));
  seen.note({ ...key, profileId: "p:two" }, limits("1"));
  seen.note(key, limits("8"));
  seen.note(key, new Map());
  expect(seen.list().map(({ profileId, windows }) => [profileId, windows[0]?.usedPercent])).toEqual([
    ["p:two", 90],
    ["p:one", 20],
  ]);
  clock.at += 61_000;
  expect(seen.list()).toEqual([]);
});
