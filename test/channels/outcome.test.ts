import { expect, test } from "vitest";
import { answeredOutcome, retryAfterMs, thrownOutcome } from "../../src/channels/connection/outcome.ts";

test.each([
  [429, "3", { kind: "retry", reason: "no", afterMs: 3000, rateLimited: true }],
  [429, undefined, { kind: "retry", reason: "no", rateLimited: true }],
  [503, null, { kind: "retry", reason: "no" }],
  [500, "0.25", { kind: "retry", reason: "no", afterMs: 250 }],
  [502, undefined, { kind: "unknown", reason: "no" }],
  [408, undefined, { kind: "unknown", reason: "no" }],
  [204, undefined, { kind: "unknown", reason: "no" }],
  [302, undefined, { kind: "unknown", reason: "no" }],
  [425, undefined, { kind: "retry", reason: "no" }],
  [403, "9", { kind: "refused", reason: "no" }],
] as const)("%i with Retry-After %s", (status, retryAfter, outcome) => {
  expect(answeredOutcome({ status, reason: "no", retryAfter })).toEqual(outcome);
});

test("a date is relative to now, and an invalid header is ignored", () => {
  expect(retryAfterMs("Wed, 21 Oct 2026 07:28:00 GMT", Date.UTC(2026, 9, 21, 7, 27, 50))).toBe(10_000);
  for (const header of ["", " ", "soon", "-1", undefined, null]) expect(retryAfterMs(header)).toBeUndefined();
});

test("only a request that was never sent certainly did not arrive", () => {
  const code = (name: string): Error => Object.assign(new Error("x"), { code: name });
  expect(thrownOutcome(new Error("outer", { cause: code("ECONNREFUSED") }), "Chat")).toEqual({
    kind: "retry",
    reason: "Chat cannot be reached (ECONNREFUSED)",
  });
  expect(thrownOutcome(new AggregateError([code("ENETUNREACH")]), "Chat").kind).toBe("retry");
  expect(thrownOutcome(code("ECONNRESET"), "Chat").kind).toBe("unknown");
  expect(thrownOutcome("odd", "Chat")).toEqual({ kind: "unknown", reason: "no answer from Chat (connection lost)" });
});
