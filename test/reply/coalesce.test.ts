import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { createCoalescer } from "../../src/reply/coalesce.ts";

function clockAt(time: number) {
  const clock = { time, now: () => clock.time };
  return clock;
}

describe("createCoalescer", () => {
  it("joins blocks that come soon after each other and sends them when idle", () => {
    const clock = clockAt(0);
    const coalescer = createCoalescer({ minChars: 100, maxChars: 200, idleMs: 1000, clock });
    expect(coalescer.due()).toBeUndefined();
    expect(coalescer.push("one")).toEqual([]);
    clock.time = 600;
    expect(coalescer.push("two")).toEqual([]);
    expect(coalescer.due()).toBe(1600);
    clock.time = 1500;
    expect(coalescer.tick()).toEqual([]);
    clock.time = 1600;
    expect(coalescer.tick()).toEqual(["one\n\ntwo"]);
    expect(coalescer.due()).toBeUndefined();
  });

  it("sends blocks when there is enough, and alone when they are too long to join", () => {
    const coalescer = createCoalescer({ minChars: 10, maxChars: 14, idleMs: 1000, clock: clockAt(0) });
    expect(coalescer.push("12345")).toEqual([]);
    expect(coalescer.push("12345")).toEqual(["12345\n\n12345"]);
    expect(coalescer.push("1234")).toEqual([]);
    expect(coalescer.push("x".repeat(30))).toEqual(["1234", "x".repeat(30)]);
    expect(coalescer.push("left")).toEqual([]);
    expect(coalescer.flush()).toEqual(["left"]);
    expect(coalescer.flush()).toEqual([]);
  });

  it("keeps order and text, and obeys its limits", () => {
    const steps = fc.array(fc.tuple(fc.string({ minLength: 1, maxLength: 30 }), fc.nat(1500)), { maxLength: 30 });
    fc.assert(
      fc.property(
        steps,
        fc.integer({ min: 1, max: 50 }),
        fc.integer({ min: 1, max: 80 }),
        (blocks, minChars, maxChars) => {
          const clock = clockAt(0);
          const coalescer = createCoalescer({ minChars, maxChars, idleMs: 1000, clock, joiner: "|" });
          const out = blocks.flatMap(([block, wait]) => {
            clock.time += wait;
            return [...coalescer.tick(), ...coalescer.push(block)];
          });
          out.push(...coalescer.flush());
          expect(out.join("|")).toBe(blocks.map(([block]) => block).join("|"));
          const longest = Math.max(0, ...blocks.map(([block]) => block.length));
          expect(out.every((block) => block.length <= Math.max(maxChars, longest))).toBe(true);
        },
      ),
    );
  });
});
