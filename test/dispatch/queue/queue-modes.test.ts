import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { overCap, queueAction } from "../../../src/dispatch/queue/queue-modes.ts";

const MODES = ["steer", "steer-backlog", "followup", "collect", "interrupt"] as const;
const mode = fc.constantFrom(...MODES);
const state = fc.record({ busy: fc.boolean(), waiting: fc.nat(30) });

describe("what becomes of a message", () => {
  it("is a start when the session is idle, in every mode, and never otherwise", () => {
    fc.assert(
      fc.property(state, mode, (lane, how) => {
        expect(queueAction(lane, how) === "start").toBe(!lane.busy && lane.waiting === 0);
      }),
    );
  });

  it("is the mode's own word while the session is busy, however many wait: they keep none from being steered", () => {
    fc.assert(
      fc.property(state, (lane) => {
        fc.pre(lane.busy || lane.waiting > 0);
        expect(MODES.map((how) => queueAction(lane, how))).toEqual(["steer", "steer", "wait", "wait", "interrupt"]);
      }),
    );
  });

  it("is over the cap by what is beyond it", () => {
    fc.assert(
      fc.property(fc.nat(100), fc.nat(50), (waiting, cap) => {
        expect(waiting - overCap(waiting, cap)).toBe(Math.min(waiting, cap));
      }),
    );
  });
});
