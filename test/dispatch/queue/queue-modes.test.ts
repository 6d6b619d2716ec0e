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
        const idle = !lane.busy && lane.waiting === 0;
        expect(queueAction(lane, how).kind === "start").toBe(idle);
      }),
    );
  });

  it("never overtakes what waits, unless the mode interrupts", () => {
    fc.assert(
      fc.property(state, mode, (lane, how) => {
        fc.pre(lane.waiting > 0);
        expect(queueAction(lane, how).kind).toBe(how === "interrupt" ? "interrupt" : "wait");
      }),
    );
  });

  it("is the mode's own word while a run continues alone", () => {
    const busy = { busy: true, waiting: 0 };
    expect(MODES.map((how) => queueAction(busy, how))).toEqual([
      { kind: "steer" },
      { kind: "steer" },
      { kind: "wait", merge: false },
      { kind: "wait", merge: true },
      { kind: "interrupt" },
    ]);
  });

  it("is over the cap by what is beyond it", () => {
    fc.assert(
      fc.property(fc.nat(100), fc.nat(50), (waiting, cap) => {
        expect(waiting - overCap(waiting, cap)).toBe(Math.min(waiting, cap));
      }),
    );
  });
});
