import { describe, expect, it } from "vitest";

import { renderTelegramChunks } from "../../src/reply/markdown/telegram.ts";

const sentence = (index: number) => `This is sentence number ${index} of a long text.`;
const many = (count: number, joiner: string) =>
  Array.from({ length: count }, (_, index) => sentence(index)).join(joiner);

describe("renderTelegramChunks", () => {
  it("gives one chunk for a short text and none for nothing", () => {
    expect(renderTelegramChunks("**Hi**, see [x](https://x.org/y)")).toEqual([
      { html: '<b>Hi</b>, see <a href="https://x.org/y">x</a>', plain: "Hi, see x (https://x.org/y)" },
    ]);
    for (const nothing of ["", " \n ", "\u200b", "&nbsp;", "[a]: https://x.org", "```\n\n```", "****\u200d"]) {
      const chunks = renderTelegramChunks(nothing);
      expect(chunks.every((chunk) => chunk.plain.trim() !== "")).toBe(true);
    }
    expect(renderTelegramChunks("\u200b\n\n\ufeff")).toEqual([]);
  });

  it("sends as written what would show nothing", () => {
    expect(renderTelegramChunks("[a]: <https://x.org>")).toEqual([
      { html: "[a]: &lt;https://x.org&gt;", plain: "[a]: <https://x.org>" },
    ]);
    expect(renderTelegramChunks(`${"> ".repeat(150)}deep`).at(-1)?.plain).toContain("deep");
  });

  it("cuts at paragraphs, then lines, then words", () => {
    for (const joiner of ["\n\n", "\n", " "]) {
      const chunks = renderTelegramChunks(many(300, joiner));
      expect(chunks.length).toBeLessThan(6);
      for (const chunk of chunks) expect(chunk.plain.length).toBeLessThanOrEqual(4096);
      expect(chunks.map((chunk) => chunk.plain).join(joiner)).toBe(many(300, joiner));
    }
    const chunks = renderTelegramChunks(many(300, "\n"));
    expect(chunks.every((chunk) => chunk.plain.startsWith("This is") && chunk.plain.endsWith("text."))).toBe(true);
  });

  it("closes formatting at a cut and opens it again", () => {
    const chunks = renderTelegramChunks(`**${many(10, " ")}**`, { limit: 200 });
    expect(chunks.length).toBeGreaterThan(2);
    for (const { html, plain } of chunks) expect(html).toBe(`<b>${plain}</b>`);
  });

  it("opens code again with its language and keeps indentation", () => {
    const lines = Array.from({ length: 30 }, (_, index) => `    indented(${index});`);
    const chunks = renderTelegramChunks(`\`\`\`js\n${lines.join("\n")}\n\`\`\``, { limit: 120 });
    for (const { html } of chunks) expect(html).toMatch(/^<pre><code class="language-js"> {4}[^]*<\/code><\/pre>$/);
    expect(chunks.map((chunk) => chunk.plain).join("\n")).toBe(lines.join("\n"));
  });

  it("never cuts a link", () => {
    const link = "[a label of several words](https://x.org/path)";
    const chunks = renderTelegramChunks(Array.from({ length: 20 }, () => link).join(" and "), { limit: 150 });
    const found = chunks.flatMap((chunk) => chunk.html.match(/<a [^>]*>[^<]*<\/a>/g) ?? []);
    expect(found).toEqual(
      Array.from({ length: 20 }, () => '<a href="https://x.org/path">a label of several words</a>'),
    );
    for (const chunk of chunks) expect(chunk.plain.length).toBeLessThanOrEqual(150);
  });

  it("keeps the HTML small where much has to be escaped", () => {
    const chunks = renderTelegramChunks(`\`\`\`\n${'"&<>'.repeat(2000)}\n\`\`\``);
    for (const { html } of chunks) expect(Buffer.byteLength(html)).toBeLessThanOrEqual(16_384);
    expect(chunks.map((chunk) => chunk.plain).join("")).toBe('"&<>'.repeat(2000));
  });

  it("never cuts a surrogate pair", () => {
    for (const { plain } of renderTelegramChunks("a" + "🙂".repeat(500), { limit: 64 })) {
      expect(plain.isWellFormed()).toBe(true);
    }
  });
});
