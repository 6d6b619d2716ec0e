import { describe, expect, it } from "vitest";
import { createBlockChunker, type BlockChunkerOptions } from "../../src/reply/block-chunker.ts";
import { parseDirectives } from "../../src/reply/directives.ts";
import { renderTelegramChunks } from "../../src/reply/markdown/telegram.ts";
import { paragraphsOf } from "../../src/reply/paragraphs.ts";
import { processorTime } from "../kit/processor-time.ts";

/** Milliseconds, far above what any of this takes; what grows with the square of the text takes more than ten seconds. */
const SOON = 3000;

const filled = (part: string, length: number): string => part.repeat(Math.ceil(length / part.length)).slice(0, length);

function chunksOf(text: string, step: number, options: BlockChunkerOptions): readonly string[] {
  const chunker = createBlockChunker(options);
  const parts = text.match(new RegExp(`[^]{1,${step}}`, "g")) ?? [];
  return [...parts.flatMap((part) => chunker.push(part)), ...chunker.flush()];
}

const UNCLOSED = ["*a ", "_a ", "||a ", "`a ", "[a ", "![", "use *args and **kw ", "http://a "];

describe("what a reply costs", () => {
  it.each([...UNCLOSED, "*a\n", "*. ", "|a|\n|-|\n", "```\n```\n"])("is bounded where %j arrives in parts", (part) => {
    const options = { minChars: 800, maxChars: 4000 };
    const cost = processorTime(() => {
      for (const breakPreference of ["paragraph", "newline", "sentence"] as const)
        chunksOf(filled(part, 5000), 5, { ...options, breakPreference });
    });
    expect(cost).toBeLessThan(SOON);
  });

  it.each([...UNCLOSED, "*. ", " ", "|a|\n|-|\n\n", "```\n```\n\n"])(
    "is bounded where much of %j is one answer",
    (part) => {
      const limit = 100_000;
      const cost = processorTime(() =>
        chunksOf(filled(part, 200_000), 200_000, { minChars: limit, maxChars: limit, breakPreference: "paragraph" }),
      );
      expect(cost).toBeLessThan(SOON);
    },
  );

  it("is bounded where one answer has very many blanks in a row", () => {
    const options = { minChars: 100_000, maxChars: 100_000, breakPreference: "paragraph" } as const;
    const text = `word${filled(" ", 99_000)}\`${filled("a", 2000)}`;
    expect(processorTime(() => chunksOf(text, text.length, options))).toBeLessThan(SOON);
  });

  it("is bounded where one delta has very many paragraphs", () => {
    const options = { minChars: 1, maxChars: 4000, breakPreference: "paragraph", flushOnParagraph: true } as const;
    expect(processorTime(() => chunksOf(filled("a\n\n", 100_000), 100_000, options))).toBeLessThan(SOON);
  });

  it.each(["`[[media:x]] ", "`[[media ", "[", "[[media:", "[[media: x]] ", "N\n"])(
    "is bounded for the directives in many %j",
    (part) => {
      expect(processorTime(() => parseDirectives(filled(part, 400_000)))).toBeLessThan(SOON);
    },
  );

  it("is bounded for addresses that end early", () => {
    expect(processorTime(() => renderTelegramChunks(filled("http://a)", 200_000)))).toBeLessThan(SOON);
  });

  it.each(["\n", "\n ", "a\n\n", "```\n```\n\n"])("is bounded for the paragraphs of many %j", (part) => {
    expect(processorTime(() => paragraphsOf(filled(part, 100_000)))).toBeLessThan(SOON);
  });
});
