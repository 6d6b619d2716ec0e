import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { createBlockChunker } from "../../src/reply/block-chunker.ts";
import type { BlockChunkerOptions } from "../../src/reply/block-chunker.ts";
import { cutInto } from "./parts.ts";

function chunksOf(parts: readonly string[], options: BlockChunkerOptions): string[] {
  const chunker = createBlockChunker(options);
  return [...parts.flatMap((part) => chunker.push(part)), ...chunker.flush()];
}

/** Whether each fence of a text that opens also closes, by lines. */
function balanced(text: string): boolean {
  let open: string | undefined;
  for (const line of text.split("\n")) {
    const [, mark = "", info = ""] = /^[ \t]*(`{3,}|~{3,})(.*)$/.exec(line) ?? [];
    if (open === undefined && mark !== "" && !(mark.startsWith("`") && info.includes("`"))) open = mark;
    else if (open !== undefined && mark.startsWith(open) && info.trim() === "") open = undefined;
  }
  return open === undefined;
}

const words = (count: number) => Array.from({ length: count }, (_, index) => `word${index}`).join(" ");

describe("createBlockChunker", () => {
  it("cuts at the first paragraph beyond minChars", () => {
    const chunker = createBlockChunker({ minChars: 9, maxChars: 100, breakPreference: "paragraph" });
    expect(chunker.push("Hi.\n\nA longer paragraph.\n")).toEqual([]);
    expect(chunker.push("\nNext")).toEqual(["Hi.\n\nA longer paragraph."]);
    expect(chunker.push(" one.\n\nDone")).toEqual(["Next one."]);
    expect(chunker.buffered().trim()).toBe("Done");
    expect(chunker.flush()).toEqual(["Done"]);
    expect(chunker.flush()).toEqual([]);
  });

  it("sends every paragraph as a block when asked to", () => {
    const options = { minChars: 100, maxChars: 200, breakPreference: "paragraph", flushOnParagraph: true } as const;
    expect(chunksOf(["Hi.\n\nYou.\n\nThere"], options)).toEqual(["Hi.", "You.", "There"]);
  });

  it("cuts at lines or sentences where that is preferred", () => {
    const text = "One two three. Four five.\nSix seven. Eight";
    expect(chunksOf([text], { minChars: 5, maxChars: 60, breakPreference: "newline" })).toEqual([
      "One two three. Four five.",
      "Six seven. Eight",
    ]);
    expect(chunksOf([text], { minChars: 5, maxChars: 60, breakPreference: "sentence" })).toEqual([
      "One two three.",
      "Four five.",
      "Six seven.",
      "Eight",
    ]);
  });

  it("cuts at words when nothing better comes in time", () => {
    const chunks = chunksOf([words(20)], { minChars: 20, maxChars: 40, breakPreference: "paragraph" });
    expect(chunks.join(" ")).toBe(words(20));
    expect(Math.max(...chunks.map((chunk) => chunk.length))).toBeLessThanOrEqual(40);
  });

  it("prefers paragraphs and lines when only the upper limit cuts", () => {
    const text = `${words(4)}\n\n${words(3)}\n${words(3)}`;
    const limits = { minChars: 40, maxChars: 40, breakPreference: "paragraph" } as const;
    expect(chunksOf([text], limits)).toEqual([words(4), `${words(3)}\n${words(3)}`]);
  });

  it("keeps a fence that fits whole", () => {
    const fence = "```js\nconst a = 1;\n\nconst b = 2;\n```";
    const text = `Some words before it.\n\n${fence}\n\nAfter.`;
    expect(chunksOf([text], { minChars: 10, maxChars: 60, breakPreference: "paragraph" })).toEqual([
      "Some words before it.",
      fence,
      "After.",
    ]);
  });

  it("closes a long fence and opens it again with its info string", () => {
    const lines = Array.from({ length: 8 }, (_, index) => `line number ${index}`);
    const text = `Look:\n\`\`\`\`python\n${lines.join("\n")}\n\`\`\`\`\nDone.`;
    const chunks = chunksOf([text], { minChars: 20, maxChars: 80, breakPreference: "paragraph" });
    expect(chunks[0]).toBe("Look:");
    expect(chunks.slice(1, -1).every((chunk) => chunk.startsWith("````python\nline number"))).toBe(true);
    expect(chunks.slice(1, -1).every((chunk) => chunk.endsWith("\n````"))).toBe(true);
    expect(chunks.join("\n").match(/line number \d/g)).toEqual(lines);
  });

  it("closes a fence that was left open", () => {
    expect(chunksOf(["```\ncode"], { minChars: 5, maxChars: 80, breakPreference: "newline" })).toEqual([
      "```\ncode\n```",
    ]);
  });

  it.each([
    ["a link", "[the label of a link](https://x.org/a_(b)?c=1)"],
    ["a link with a picture", "[![a small picture](https://x.org/p.png) and words](https://x.org)"],
    ["a picture", "![a small picture](https://x.org/p.png)"],
    ["inline code", "`some code. And more of it`"],
    ["bold words", "**some bold words. And more**"],
    ["slanted words", "_some slanted words. And more_"],
    ["struck words", "~~some struck words. And more~~"],
    ["a spoiler", "||some hidden words. And more||"],
    ["an address", "https://x.org/。a。b。c_d*e"],
  ])("does not tear %s", (_, piece) => {
    for (const breakPreference of ["paragraph", "newline", "sentence"] as const)
      for (let at = 0; at < 60; at += 1) {
        const text = `${words(40).slice(0, at)} ${piece} ${words(20)}`;
        const chunks = chunksOf(text.split(""), { minChars: 20, maxChars: 80, breakPreference });
        expect(
          chunks.some((chunk) => chunk.includes(piece)),
          chunks.join(" ⏎ "),
        ).toBe(true);
      }
  });

  it("cuts at sentences between marks, and does not wait for stray ones beyond their paragraph", () => {
    const options = { minChars: 5, maxChars: 80, breakPreference: "sentence" } as const;
    const chunker = createBlockChunker(options);
    expect(chunker.push("**Bold one.** Then [1] more. And ")).toEqual(["**Bold one.**", "Then [1] more."]);
    expect(chunker.push("2 *3 is it. Or [not. So\n\nNext. One")).toEqual([
      "And 2 *3 is it.",
      "Or [not.",
      "So\n\nNext.",
    ]);
  });

  it("cuts a marked text that is longer than a chunk, at words", () => {
    const chunks = chunksOf([`**${words(30)}**`], { minChars: 40, maxChars: 60, breakPreference: "paragraph" });
    expect(chunks.join(" ")).toBe(`**${words(30)}**`);
    expect(Math.min(...chunks.slice(0, -1).map((chunk) => chunk.length))).toBeGreaterThan(30);
  });

  it("keeps a table that fits whole, and repeats the head of a longer one", () => {
    const head = "| name | number |\n|------|-------:|";
    const rows = Array.from({ length: 9 }, (_, index) => `| row ${index} | ${index} |`);
    const whole = `Some words before it.\n${head}\n${rows.slice(0, 2).join("\n")}`;
    const options = { minChars: 10, maxChars: 80, breakPreference: "newline" } as const;
    expect(chunksOf(whole.split(""), options)).toEqual(whole.split(/(?<=it\.)\n/));
    const chunks = chunksOf(`${head}\n${rows.join("\n")}\n\nAfter it.`.split(""), options);
    expect(chunks.length).toBeGreaterThan(2);
    for (const chunk of chunks.slice(0, -1)) expect(chunk.startsWith(`${head}\n| row`)).toBe(true);
    expect(chunks.join("\n").match(/^\| row .*$/gm)).toEqual(rows);
    expect(chunks.at(-1)).toMatch(/After it\.$/);
  });

  const preference = fc.constantFrom("paragraph", "newline", "sentence");
  const options = fc
    .record({
      minChars: fc.integer({ min: 1, max: 60 }),
      room: fc.integer({ min: 0, max: 100 }),
      breakPreference: preference,
    })
    .map(({ minChars, room, breakPreference }) => ({ minChars, maxChars: 40 + room, breakPreference }) as const);
  const prose = fc.constantFrom(
    ..."word| |. |! |\n|\n\n|🙂|日本語。|  - item\n|a `code` b|x.y|long-unbroken-thing-that-goes-on".split("|"),
  );
  const code = fc
    .tuple(
      fc.constantFrom("```", "````", "~~~"),
      fc.constantFrom("", "js", "python"),
      fc.array(fc.constantFrom("let a = 1;", "", "  indented", "🙂🙂🙂", "x".repeat(70), "`tick`"), { maxLength: 8 }),
    )
    .map(([mark, info, lines]) => `\n${[mark + info, ...lines, mark].join("\n")}\n`);
  const texts = fc
    .array(fc.oneof({ weight: 5, arbitrary: prose }, { weight: 1, arbitrary: code }), { maxLength: 40 })
    .map((parts) => parts.join(""));

  it("keeps its promises for any text", () => {
    const visible = (text: string) => text.replace(/^[ \t]*(?:`{3,}|~{3,})\w*$/gm, "").replace(/\s+/g, "");
    fc.assert(
      fc.property(texts, options, (text, limits) => {
        const chunks = chunksOf([text], limits);
        for (const chunk of chunks) {
          expect(chunk.length).toBeLessThanOrEqual(limits.maxChars);
          expect(chunk.trim()).not.toBe("");
          expect(chunk.isWellFormed()).toBe(true);
          expect(balanced(chunk), chunk).toBe(true);
        }
        expect(visible(chunks.join("\n"))).toBe(visible(text));
      }),
      { numRuns: 2000 },
    );
  });

  it("cuts alike however the text arrives", () => {
    const noise = fc.array(fc.constantFrom(..."```|``|`|~~~|\n|\n\n| |a.| b|word|```js\n|\n```\n".split("|")), {
      maxLength: 60,
    });
    const any = fc.oneof(
      texts,
      noise.map((parts) => parts.join("")),
    );
    fc.assert(
      fc.property(any, options, fc.array(fc.nat(500)), fc.boolean(), (text, limits, cuts, flushOnParagraph) => {
        const all = { ...limits, flushOnParagraph };
        const whole = chunksOf([text], all);
        expect(chunksOf(cutInto(text, cuts), all)).toEqual(whole);
        expect(chunksOf(text.split(""), all)).toEqual(whole);
        expect(whole.every((chunk) => chunk.length <= limits.maxChars)).toBe(true);
      }),
      { numRuns: 1000 },
    );
  });

  const marked = fc
    .array(
      fc.constantFrom(
        ..."**¦*¦_¦__¦~~¦||¦`¦[¦]¦](u)¦[a. b](https://x.org/c)¦word¦ two¦. ¦\n¦\n\n¦\\¦- ¦1. ¦# ¦| a. b | c |\n¦|--|--|\n¦\n| x¦|¦-¦https://y.org ¦```\n¦日。".split(
          "¦",
        ),
      ),
      { maxLength: 60 },
    )
    .map((parts) => parts.join(""));

  it("cuts marks, links and tables alike however the text arrives, and loses nothing of them", () => {
    const ink = (text: string) => text.replace(/[\s`~]+/g, "");
    fc.assert(
      fc.property(marked, options, fc.boolean(), (text, limits, flushOnParagraph) => {
        const all = { ...limits, flushOnParagraph };
        const whole = chunksOf([text], all);
        expect(chunksOf(text.split(""), all)).toEqual(whole);
        expect(whole.every((chunk) => chunk.length <= limits.maxChars)).toBe(true);
        // Heads of tables are repeated.
        let at = 0;
        const cut = ink(whole.join(""));
        for (const sign of ink(text)) at = cut.indexOf(sign, at) + 1 || Infinity;
        expect(at).toBeLessThanOrEqual(cut.length);
        if (!text.includes("|--|--|")) expect(cut).toBe(ink(text));
      }),
      { numRuns: 2000 },
    );
  });

  it("never splits a link that fits, at any position", () => {
    const link = fc
      .tuple(
        fc.constantFrom("label", "a. b! c? d", "code `x`", "two\nlines"),
        fc.constantFrom("", "a_b", "x(y)z", "q?c=1&d=2"),
      )
      .map(([label, path]) => `[${label}](https://x.org/${path})`);
    fc.assert(
      fc.property(texts, link, texts, options, (before, made, after, limits) => {
        const stray = /[`~[\\]/;
        fc.pre(!stray.test(before) && made.length <= limits.maxChars);
        const chunks = chunksOf([`${before} ${made} ${after}`], limits);
        expect(
          chunks.some((chunk) => chunk.includes(made)),
          chunks.join(" ⏎ "),
        ).toBe(true);
      }),
      { numRuns: 2000 },
    );
  });

  it("ends and loses no word for any text and any limits", () => {
    fc.assert(
      fc.property(
        fc.string({ maxLength: 300 }),
        fc.nat(50),
        fc.nat(50),
        preference,
        (text, minChars, maxChars, kind) => {
          const chunks = chunksOf([text], { minChars, maxChars, breakPreference: kind });
          const ink = (part: string) => part.replace(/[\s`~]+/g, "");
          expect(ink(chunks.join(""))).toBe(ink(text));
        },
      ),
    );
  });
});
