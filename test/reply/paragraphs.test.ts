import fc from "fast-check";
import { expect, it } from "vitest";
import { paragraphsOf } from "../../src/reply/paragraphs.ts";

it.each([
  ["one\ntwo\n\nthree\n \n\nfour", ["one\ntwo", "three", "four"]],
  ["\n\none\n\n", ["one"]],
  ["1. a\n\n   b\n\n2. c", ["1. a\n\n   b", "2. c"]],
  ["a\n\n```js\nx\n\ny\n```\n\nb", ["a", "```js\nx\n\ny\n```", "b"]],
  ["```\nx\n\ny", ["```\nx\n\ny"]],
  [" \n\n", []],
])("%j is cut at its blank lines", (text, wanted) => {
  expect(paragraphsOf(text).map((one) => one.trim())).toEqual(wanted);
});

it("no word is lost", () => {
  const piece = fc.constantFrom("a", "\n", "\n\n", " ", "```\n", "- b", "\t");
  fc.assert(
    fc.property(fc.array(piece), (pieces) => {
      const text = pieces.join("");
      const ink = (part: string) => part.replaceAll(/\s/g, "");
      expect(ink(paragraphsOf(text).join(""))).toBe(ink(text));
      expect(paragraphsOf(text).every((one) => one.trim() !== "")).toBe(true);
    }),
  );
});
