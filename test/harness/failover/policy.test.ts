import { readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  FRESH,
  isOfRequest,
  next,
  POLICY,
  type PolicyState,
  movedTo,
  type PolicyStep,
} from "../../../src/harness/failover/policy.ts";
import { FAILURE_KINDS, type Failure } from "../../../src/types/run/run.ts";

const failure: fc.Arbitrary<Failure> = fc.record({
  kind: fc.constantFrom(...FAILURE_KINDS),
  message: fc.constant("no"),
  retryAfterMs: fc.nat(120_000),
});

/** Steps until the policy gives up, or `most` of them. */
function steps(failures: (at: number) => Failure, candidates: number, most: number, profiles = 1): PolicyStep[] {
  const taken: PolicyStep[] = [];
  let state: PolicyState = FRESH;
  while (taken.length < most) {
    const step = next(state, failures(taken.length), { candidates, profiles });
    taken.push(step);
    if (step.kind === "give_up") break;
    state = step.state;
  }
  return taken;
}

describe("the failure policy", () => {
  it("is reported as it is", () => {
    const text = readFileSync(join(import.meta.dirname, "../../../docs/concepts/failures.md"), "utf8");
    const told = [...text.matchAll(/^\| `(\w+)` \|(.*)\|$/gm)].map(([, kind, row = ""]) => [kind, row.trim()] as const);
    const meant = FAILURE_KINDS.map(
      (kind) => [kind, POLICY[kind].map(([remedy, limit]) => `${remedy} ×${limit}`).join(", ")] as const,
    );
    expect(new Map(told)).toEqual(new Map(meant));
  });

  it("gives up in the end, whatever fails in whatever order", () => {
    fc.assert(
      fc.property(
        fc.infiniteStream(failure),
        fc.integer({ min: 1, max: 12 }),
        fc.nat(5),
        (failures, candidates, keys) => {
          const most = 3000;
          const taken = steps(() => failures.next().value, candidates, most, keys);
          expect(taken.at(-1)).toEqual({ kind: "give_up" });
        },
      ),
    );
  });

  it.each(FAILURE_KINDS)("gives up on %s alone, after each of its remedies", (kind) => {
    const taken = steps(() => ({ kind, message: "no" }), 3, 300, 3);
    expect(taken.at(-1)).toEqual({ kind: "give_up" });
    const used = new Set(taken.flatMap((step) => (step.kind === "retry" ? [step.remedy] : [])));
    expect([...used]).toEqual([...new Set(POLICY[kind].map(([remedy]) => remedy))]);
  });

  it.each(FAILURE_KINDS.filter(isOfRequest))("sends nothing unchanged to the same model after %s", (kind) => {
    // What a remedy changes in the request that the same model gets; a request is the count of each change.
    const request = ({ used, candidate }: PolicyState) =>
      JSON.stringify([
        candidate,
        { ...used, fallback_model: 0, rotate_profile: 0, wait: 0, wait_for_load: 0, ask_owner: 0 },
      ]);
    const taken = steps(() => ({ kind, message: "no" }), 3, 300, 3);
    const sent = [FRESH, ...taken.flatMap((step) => (step.kind === "retry" ? [step.state] : []))].map(request);
    expect(new Set(sent).size).toBe(sent.length);
  });

  it("does not wait or change the key for a refused request, whatever the row of its kind says", () => {
    const repeats = new Set(["wait", "wait_for_load", "rotate_profile", "ask_owner"]);
    const ofRequest = FAILURE_KINDS.filter(isOfRequest);
    expect(ofRequest.flatMap((kind) => POLICY[kind].filter(([remedy]) => repeats.has(remedy)))).toEqual([]);
    expect(ofRequest).toEqual(
      expect.arrayContaining(["format", "thinking_unsupported", "thinking_refused", "output_limit"]),
    );
    for (const kind of ["network", "overloaded", "rate_limit", "unknown"] as const)
      expect(isOfRequest(kind)).toBe(false);
  });

  it("takes no remedy that would change nothing", () => {
    const failed: Failure = { kind: "thinking_unsupported", message: "no" };
    const useless = new Set(["lower_thinking" as const]);
    expect(next(FRESH, failed, { candidates: 1, profiles: 1, useless })).toEqual({ kind: "give_up" });
    expect(next(FRESH, failed, { candidates: 1, profiles: 1 })).toMatchObject({
      remedy: "lower_thinking",
    });
  });

  it("shows another model the whole history again, and compacts it no oftener for that", () => {
    const taken = steps(() => ({ kind: "context_overflow", message: "no" }), 2, 60);
    const smaller = ["truncate_results", "drop_images", ...Array.from({ length: 5 }, () => "shrink_window")];
    const used = taken.flatMap((step) => (step.kind === "retry" ? [step.remedy] : []));
    expect(used).toEqual(["compact", "compact", "compact", ...smaller, "fallback_model", ...smaller]);
    const [handedOn] = taken.filter((step) => step.kind === "retry" && step.remedy === "fallback_model");
    expect(handedOn).toMatchObject({ state: { candidate: 1, used: { compact: 3, fallback_model: 1 } } });
    expect(handedOn).not.toHaveProperty("state.used.shrink_window");
  });

  it("gives a fallback model everything that is sent to each model", () => {
    const state: PolicyState = { used: { wait: 2, lower_thinking: 1, compact: 2 }, candidate: 0, profile: 1 };
    expect(movedTo(state, { candidate: 0, profile: 2 })).toEqual({ ...state, profile: 2 });
    expect(movedTo(state, { candidate: 2, profile: 0 })).toEqual({ used: { compact: 2 }, candidate: 2, profile: 0 });
  });

  it("never names a candidate that is not there", () => {
    fc.assert(
      fc.property(fc.infiniteStream(failure), fc.integer({ min: 1, max: 4 }), (failures, candidates) => {
        for (const step of steps(() => failures.next().value, candidates, 60))
          if (step.kind === "retry") expect(step.state.candidate).toBeLessThan(candidates);
      }),
    );
  });

  it("waits as long as the provider asks, else twice as long each time", () => {
    const waits = (retryAfterMs?: number) =>
      steps(
        () => ({ kind: "network", message: "no", ...(retryAfterMs !== undefined && { retryAfterMs }) }),
        1,
        9,
      ).flatMap((step) => (step.kind === "retry" ? [step.waitMs] : []));
    expect(waits()).toEqual([1000, 2000, 4000]);
    expect(waits(7000)).toEqual([7000, 7000, 7000]);
  });

  it("waits after an overload as long as the config says, also before another key", () => {
    const step = (state: PolicyState, more: Partial<Failure> = {}) =>
      next(state, { kind: "overloaded", message: "no", ...more }, { candidates: 2, profiles: 2, backoffMs: 250 });
    expect(step(FRESH)).toMatchObject({ remedy: "wait", waitMs: 250 });
    expect(step(FRESH, { retryAfterMs: 3000 })).toMatchObject({ remedy: "wait", waitMs: 3000 });
    expect(step({ ...FRESH, used: { wait: 2 } })).toMatchObject({ remedy: "rotate_profile", waitMs: 250 });
    expect(step({ ...FRESH, used: { wait: 2, rotate_profile: 1 } })).toMatchObject({
      remedy: "fallback_model",
      waitMs: 0,
    });
  });

  it("asks the next model at once when the provider wants more than a minute", () => {
    expect(
      next(FRESH, { kind: "rate_limit", message: "no", retryAfterMs: 61_000 }, { candidates: 2, profiles: 1 }),
    ).toMatchObject({
      remedy: "fallback_model",
      waitMs: 0,
    });
    expect(
      next(FRESH, { kind: "rate_limit", message: "no", retryAfterMs: 61_000 }, { candidates: 1, profiles: 1 }),
    ).toEqual({ kind: "give_up" });
  });
});
