import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { directivesIn, withoutDirectives } from "../../../src/dispatch/directives/parse.ts";
import { processorTime } from "../../kit/processor-time.ts";

const told = (text: string) => {
  const found = directivesIn(text);
  return { text: withoutDirectives(text, found), set: found.map(({ values }) => values) };
};

describe("a directive in a text", () => {
  it.each([
    ["/think high what is 2+2?", "what is 2+2?", [{ think: "high" }]],
    ["what is 2+2? /think high", "what is 2+2?", [{ think: "high" }]],
    ["please /t:low do it", "please do it", [{ think: "low" }]],
    ["/think: max\nfirst line\n  indented", "first line\n  indented", [{ think: "xhigh" }]],
    ["one\n\n/thinking OFF\n\ntwo", "one\n\n\ntwo", [{ think: "off" }]],
    ["do it /think high /queue steer", "do it", [{ think: "high" }, { queue: { mode: "steer" } }]],
    ["/queue steer look at this", "look at this", [{ queue: { mode: "steer" } }]],
    [
      "/queue queue debounce:2s cap:5 drop:new go",
      "go",
      [{ queue: { mode: "followup", debounceMs: 2000, cap: 5, drop: "new" } }],
    ],
    ["/queue interrupt /think low stop that", "stop that", [{ queue: { mode: "interrupt" } }, { think: "low" }]],
  ])("%j says %j", (text, rest, set) => {
    expect(told(text)).toEqual({ text: rest, set });
  });

  it.each([
    "/think",
    "/think hard about it",
    "/queue sometimes",
    "/queue cap:0 x",
    "/queue debounce:20m x",
    "/queue steer cap:many x",
    "/queue drop:all x",
    "see /usr/think high",
    "a/think high",
    "`/think high`",
    "use\n```sh\n/think high\n```\nthere",
    "~~~\n/queue steer\nnot closed",
    "/thinker high",
    "https://example.org/think high",
  ])("%j is only text", (text) => {
    expect(told(text)).toEqual({ text, set: [] });
  });

  const word = fc.stringMatching(/^[a-z0-9.,!?äß🙂-]{1,8}$/u).filter((text) => !text.startsWith("/"));
  const space = fc.constantFrom(" ", "  ", "\n", "\n\n", "\t", "\r\n");
  const words = fc.array(fc.tuple(word, space), { minLength: 1, maxLength: 8 });
  const directive = fc.constantFrom("/think high", "/queue steer", "/t low", "/queue collect cap:3 drop:old");

  it("goes without a trace, wherever it is: all other text stays as it is", () => {
    fc.assert(
      fc.property(words, words, directive, (before, after, inserted) => {
        const [left, right] = [before, after].map((parts) => parts.flat().join("")) as [string, string];
        // The word after a queue's numbers must not look like one of them.
        fc.pre(directivesIn(left + right).length === 0 && !/^(?:collect|followup|steer|interrupt|queue)\s/.test(right));
        expect(told(`${left}${inserted} ${right}`).text).toBe(left + right);
      }),
    );
  });

  it("is found in time that grows with the text, whatever the text", () => {
    const texts = ["/think ", "```\n", "/think high ", "/queue cap:5 ", "/think high\n```\na\n```\n", "`", "/", "\n"];
    for (const unit of texts) {
      const text = `${unit.repeat(1_000_000 / unit.length)} words`;
      // What grows with the square of the text takes minutes.
      expect(processorTime(() => withoutDirectives(text, directivesIn(text)))).toBeLessThan(5000);
    }
  });
});
