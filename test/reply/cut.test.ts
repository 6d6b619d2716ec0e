import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cutPlace } from "../../src/reply/markdown/cut.ts";
import { flatten } from "../../src/reply/markdown/flatten.ts";
import { parseMarkdown } from "../../src/reply/markdown/parse.ts";
import { renderTelegramChunks } from "../../src/reply/markdown/telegram.ts";

const link = "[a label of words](https://x.org/path)";
const shown = '<a href="https://x.org/path">a label of words</a>';

describe("a cut where no word ends", () => {
  it("keeps out of a link that fits, wherever it begins", () => {
    for (let before = 1; before < 130; before += 1) {
      const chunks = renderTelegramChunks(`${"x".repeat(before)}${link}${"y".repeat(90)}`, { limit: 64 });
      expect(chunks.map(({ html }) => html).join(" ")).toContain(shown);
      expect(chunks.map(({ html }) => html.replace(shown, "")).join("")).toBe("x".repeat(before) + "y".repeat(90));
    }
  });

  it("splits a link that is longer than the limit, and always makes progress", () => {
    const styled = flatten(parseMarkdown(`[${"z".repeat(50)}](https://x.org)`));
    expect(cutPlace(styled, 0, 20)).toBe(20);
    expect(cutPlace(styled, 20, 20)).toBe(40);
    expect(cutPlace(styled, 40, 20)).toBe(50);
  });

  it("continues and tears no pair of units, for any text", () => {
    const piece = fc.constantFrom("🙂", "x", "日", link, " ", "**b**", "\n\n");
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), fc.integer({ min: 2, max: 40 }), (pieces, room) => {
        const styled = flatten(parseMarkdown(pieces.join("")));
        for (let from = 0; from < styled.text.length;) {
          const to = cutPlace(styled, from, room);
          expect(to).toBeGreaterThan(from);
          expect(to).toBeLessThanOrEqual(Math.min(from + room, styled.text.length));
          expect(styled.text.slice(from, to).isWellFormed()).toBe(true);
          from = to;
        }
      }),
    );
  });
});

describe("a cut within a text without blanks", () => {
  it.each(["👩‍👩‍👧‍👦", "🇩🇪", "กำ้", "e\u0301\u0323", "한", "👍🏽"])("keeps %s in one piece", (sign) => {
    const text = sign.repeat(300);
    for (let limit = sign.length; limit < sign.length * 4; limit += 1) {
      const parts = renderTelegramChunks(text, { limit: limit + 40 }).map(({ plain }) => plain);
      expect(parts.join("")).toBe(text);
      expect(parts.filter((part) => part.length % sign.length !== 0)).toEqual([]);
    }
  });
});
