import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createBlockFeed, lettersOf, type BlockFeedOptions } from "../../../src/dispatch/answer/block-feed.ts";
import { manualClock } from "../../kit/clock.ts";

const chunk = { minChars: 10, maxChars: 40, breakPreference: "paragraph" } as const;
const coalesce = { minChars: 60, maxChars: 100, idleMs: 1000 };

function open(more: Partial<BlockFeedOptions> & { breakAt?: "text_end" | "message_end" } = {}) {
  const { breakAt = "text_end", ...rest } = more;
  const streaming = { blocks: true, breakAt, chunk };
  return createBlockFeed({ streaming, clock: manualClock(), earlier: [], ...rest });
}

const paragraphs = ["alpha ", "beta ", "gamma ", "delta "].map((word) => word.repeat(4).trim());
const text = paragraphs.join("\n\n");

describe("blocks of a growing answer", () => {
  it("go as they are cut (text_end), or when their message is whole (message_end)", () => {
    const soon = open();
    expect(soon.push(text).length).toBeGreaterThan(1);
    const late = open({ breakAt: "message_end" });
    expect(late.push(text)).toEqual([]);
    expect(late.flush()).toEqual(paragraphs);
  });

  it.each([
    ["paragraph", ["one. ", "two.", " three\n", "\n", "four", ", 4.5"], [false, false, true, true, true, false]],
    ["sentence", ["one. ", "two.", " three", "。", "4.5", " five"], [true, true, true, true, true, false]],
  ] as const)("may end in a delta: %s", (breakPreference, deltas, wanted) => {
    const streaming = { blocks: true, breakAt: "text_end", chunk: { ...chunk, breakPreference } } as const;
    const feed = createBlockFeed({ streaming, clock: manualClock(), earlier: [] });
    const held = createBlockFeed({
      streaming: { ...streaming, breakAt: "message_end" },
      clock: manualClock(),
      earlier: [],
    });
    const texts = deltas.map((_, at) => deltas.slice(0, at + 1).join(""));
    expect(deltas.map((delta, at) => feed.mayEndBlock(delta, texts[at] ?? ""))).toEqual(wanted);
    expect(deltas.some((delta, at) => held.mayEndBlock(delta, texts[at] ?? ""))).toBe(false);
  });

  it("are joined until there is enough, or until nothing came for a while", () => {
    const clock = manualClock();
    const feed = open({ coalesce, clock });
    expect(feed.push(`${paragraphs.slice(0, 2).join("\n\n")}\n\n`)).toEqual([]);
    clock.pass(999);
    expect(feed.tick()).toEqual([]);
    clock.pass(1);
    expect(feed.tick().join("")).toContain("alpha");
    expect([...feed.push(paragraphs.slice(2).join("\n\n")), ...feed.flush()].join(" ")).toContain("delta");
  });

  it("of a call that was cut off are forgotten", () => {
    for (const feed of [open({ coalesce }), open({ breakAt: "message_end" })]) {
      feed.push(text.slice(0, 60));
      feed.drop();
      expect(feed.flush()).toEqual([]);
    }
  });

  it("come out as an earlier boot planned them, whatever the clock said then", () => {
    const cuts = fc.array(fc.boolean(), { minLength: 3, maxLength: 3 });
    fc.assert(
      fc.property(cuts, (cut) => {
        const clock = manualClock();
        const before = open({ coalesce, clock });
        const planned = paragraphs.flatMap((paragraph, index) => {
          const now = before.push(index === 0 ? paragraph : `\n\n${paragraph}`);
          clock.pass(cut[index] === true ? 1000 : 0);
          return [...now, ...before.tick()];
        });
        const known = planned.map(lettersOf);
        const after = open({ coalesce, earlier: known });
        const again = [...after.push(text), ...after.flush()];
        expect(again.slice(0, planned.length).map(lettersOf)).toEqual(known);
        expect(lettersOf(again.join(""))).toBe(lettersOf(text));
      }),
    );
  });

  it("are never lost or doubled when the answer differs", () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom("alpha", "alphaalpha", "beta", "x", "")), (earlier) => {
        const feed = open({ coalesce, earlier });
        expect(lettersOf([...feed.push(text), ...feed.flush()].join(""))).toBe(lettersOf(text));
      }),
    );
  });
});
