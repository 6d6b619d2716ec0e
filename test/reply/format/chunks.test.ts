import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { renderChunks } from "../../../src/reply/format/chunks.ts";
import type { ChatFormat, ChunkOptions } from "../../../src/reply/format/chunks.ts";

const FORMATS: readonly ChatFormat[] = ["slack-mrkdwn", "discord", "signal-styled", "whatsapp", "plain"];
const one = (markdown: string, format: ChatFormat, options: Partial<ChunkOptions> = {}): string => {
  const chunks = renderChunks(markdown, format, { limit: 2000, ...options });
  expect(chunks.length).toBeLessThanOrEqual(1);
  return chunks[0]?.body ?? "";
};

describe("a platform's own format", () => {
  it.each([
    [
      "**bold** _it_ ~~gone~~ `code`",
      "*bold* _it_ ~gone~ `code`",
      "**bold** *it* ~~gone~~ `code`",
      "*bold* _it_ ~gone~ `code`",
    ],
    ["# Title\n\ntext", "*Title*\n\ntext", "**Title**\n\ntext", "*Title*\n\ntext"],
    ["- one\n- two", "• one\n• two", "• one\n• two", "• one\n• two"],
    ["> said\n> twice", "> said\n> twice", "> said\n> twice", "> said\n> twice"],
    ["**two\nlines**", "*two*\n*lines*", "**two**\n**lines**", "*two*\n*lines*"],
    ["***both***", "_*both*_", "***both***", "_*both*_"],
    ["a **b** c", "a *b* c", "a **b** c", "a *b* c"],
    ["[docs](https://x.org/a_b)", "<https://x.org/a_b|docs>", "[docs](https://x.org/a_b)", "docs (https://x.org/a_b)"],
    ["<https://x.org/a_b>", "<https://x.org/a_b|https://x.org/a_b>", "https://x.org/a_b", "https://x.org/a_b"],
    ["see https://x.org/a_b_c", "see https://x.org/a_b_c", "see https://x.org/a_b_c", "see https://x.org/a_b_c"],
    ["a < b && c > d", "a &lt; b &amp;&amp; c &gt; d", "a < b && c > d", "a < b && c > d"],
    ["```js\nlet a = '<';\n```", "```\nlet a = '&lt;';\n```", "```js\nlet a = '<';\n```", "```\nlet a = '<';\n```"],
    ["2 \\* 3 snake_case", "2 * 3 snake_case", "2 \\* 3 snake\\_case", "2 * 3 snake_case"],
    ["\\# no title", "# no title", "\\# no title", "# no title"],
    ["||hidden||", "hidden", "||hidden||", "hidden"],
  ])("writes %j", (markdown, slack, discord, whatsapp) => {
    expect(one(markdown, "slack-mrkdwn")).toBe(slack);
    expect(one(markdown, "discord")).toBe(discord);
    expect(one(markdown, "whatsapp")).toBe(whatsapp);
  });

  it("parts a mark inside of a word where Slack would not read it, and leaves it out on WhatsApp", () => {
    expect(one("un**believ**able", "slack-mrkdwn")).toBe("un\u200b*believ*\u200bable");
    expect(one("un**believ**able", "whatsapp")).toBe("unbelievable");
  });

  it("is bold beside CJK punctuation in the form of each channel", () => {
    expect(one("**注意：**请", "slack-mrkdwn")).toBe("\u200b*注意：*\u200b请");
    expect(one("**注意：**请", "discord")).toBe("**注意：**请");
    expect(one("**注意：** 请", "whatsapp")).toBe("*注意：* 请");
    // WhatsApp reads no mark beside a letter.
    expect(one("**注意：**请", "whatsapp")).toBe("注意：请");
    const [chunk] = renderChunks("**注意：**请", "signal-styled", { limit: 2000 });
    expect(chunk).toMatchObject({ body: "注意：请", styles: [{ start: 0, length: 3, style: "BOLD" }] });
  });

  it("keeps names of Slack and Discord, and calls nobody by accident", () => {
    expect(one("hi <@U012AB> in <#C99|general> <!channel>", "slack-mrkdwn")).toBe(
      "hi <@U012AB> in <#C99|general> &lt;!channel&gt;",
    );
    expect(one("hi <@123_4> <:my_emoji:55>", "discord")).toBe("hi <@123_4> <:my_emoji:55>");
  });

  it("writes a Discord link out when its label is another address", () => {
    expect(one("[https://a.org](https://b.org/x)", "discord")).toBe("https://a.org (https://b.org/x)");
  });

  it("sends Signal the styles beside the text", () => {
    const [chunk] = renderChunks("🙂 **bold** and `x`\n\n> quoted *it*\n\n```\ncode\n```", "signal-styled", {
      limit: 2000,
    });
    expect(chunk?.body).toBe("🙂 bold and x\n\n> quoted it\n\ncode");
    const shown = chunk?.styles?.map(({ start, length, style }) => [chunk.body.slice(start, start + length), style]);
    expect(shown).toEqual([
      ["bold", "BOLD"],
      ["x", "MONOSPACE"],
      ["it", "ITALIC"],
      ["code", "MONOSPACE"],
    ]);
  });

  it("shows a narrow table aligned and a wide one as a list", () => {
    expect(one("| a | b |\n|---|---|\n| 1 | 2 |", "slack-mrkdwn")).toBe("```\na  b\n─  ─\n1  2\n```");
    const wide = "x".repeat(60);
    expect(one(`| name | text |\n|---|---|\n| k | ${wide} |`, "discord")).toBe(`• **name:** k\n  **text:** ${wide}`);
  });

  it("gives nothing for nothing and shows as written what would show nothing", () => {
    expect(renderChunks(" \n\u200b", "discord", { limit: 100 })).toEqual([]);
    expect(one("[a]: https://x.org", "slack-mrkdwn")).toBe("[a]: https://x.org");
  });
});

describe("chunks", () => {
  it("close a code block at a cut and open it again with its language", () => {
    const code = Array.from({ length: 40 }, (_, index) => `  line(${index});`).join("\n");
    const chunks = renderChunks(`\`\`\`ts\n${code}\n\`\`\``, "discord", { limit: 2000, lines: 17 });
    expect(chunks.length).toBe(3);
    for (const { body } of chunks) expect(body).toMatch(/^```ts\n {2}line\(\d+\);[^]*\n```$/);
    for (const { body } of chunks) expect(body.split("\n").length).toBeLessThanOrEqual(17);
    expect(chunks.map(({ plain }) => plain).join("\n")).toBe(code);
  });

  it("never cut a link", () => {
    const link = "[a label of several words](https://x.org/path)";
    const text = Array.from({ length: 20 }, () => link).join(" and ");
    const found = (format: ChatFormat, pattern: RegExp): number =>
      renderChunks(text, format, { limit: 150 }).flatMap(({ body }) => body.match(pattern) ?? []).length;
    expect(found("slack-mrkdwn", /<https:\/\/x\.org\/path\|a label of several words>/g)).toBe(20);
    expect(found("discord", /\[a label of several words\]\(https:\/\/x\.org\/path\)/g)).toBe(20);
    expect(found("whatsapp", /\(https:\/\/x\.org\/path\)/g)).toBe(20);
  });

  it("fall back to the label of an address that is longer than a message", () => {
    const chunks = renderChunks(`[label](https://x.org/${"a".repeat(300)})`, "discord", { limit: 200 });
    expect(chunks.map(({ body }) => body)).toEqual(["label"]);
  });

  const piece = fc.oneof(
    fc.string({ unit: "grapheme", maxLength: 40 }),
    fc.constantFrom(
      "**bold text**",
      "_it_",
      "`co`",
      "``a`b``",
      "\n\n",
      "\n",
      " words and more words ",
      "- item\n- item",
      "> quote\n> more",
      "\n```js\nconst a = `b`;\n\n  return;\n```\n",
      "\n~~~\n```\n~~~\n",
      "[link *x*](https://example.org/a_(b)?c=1&d=2)",
      "||no|| <@U1> <b> & \\* #",
      "\n| a | b |\n|---|---|\n| 1 | `2` |\n",
      "\n# head\n",
    ),
  );
  const markdown = fc.array(piece, { maxLength: 30 }).map((parts) => parts.join(""));
  // A quote that goes on in another message has its sign there too.
  const squeezed = (text: string): string => text.replace(/[\s\u200b>]/g, "");

  it.each(FORMATS)("of %s keep the limit, balance fences and lose nothing", (format) => {
    fc.assert(
      fc.property(markdown, fc.integer({ min: 80, max: 400 }), fc.boolean(), (text, limit, counts) => {
        const lines = counts ? 17 : undefined;
        const chunks = renderChunks(text, format, { limit, lines });
        for (const { body, plain, styles } of chunks) {
          expect(body.length).toBeLessThanOrEqual(limit);
          expect(plain.length).toBeLessThanOrEqual(limit);
          expect(body.isWellFormed()).toBe(true);
          if (lines !== undefined) expect(body.split("\n").length).toBeLessThanOrEqual(lines);
          if (format !== "signal-styled" && format !== "plain") expect((body.match(/```/g) ?? []).length % 2).toBe(0);
          for (const { start, length } of styles ?? []) {
            expect(length).toBeGreaterThan(0);
            expect(start + length).toBeLessThanOrEqual(body.length);
          }
        }
        const [whole] = renderChunks(text, "plain", { limit: 1_000_000 });
        const plain = renderChunks(text, "plain", { limit });
        expect(squeezed(plain.map(({ body }) => body).join(""))).toBe(squeezed(whole?.body ?? ""));
      }),
      { numRuns: 150 },
    );
  });
});
