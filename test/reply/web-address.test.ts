import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { renderChunks, type ChatFormat } from "../../src/reply/format/chunks.ts";
import { parseMarkdown } from "../../src/reply/markdown/parse.ts";
import { toPlain } from "../kit/whole-document.ts";
import { renderTelegramChunks } from "../../src/reply/markdown/telegram.ts";

const FORMATS: readonly ChatFormat[] = ["slack-mrkdwn", "discord", "signal-styled", "whatsapp", "plain"];

/** What a person reads in each format. */
function shownIn(markdown: string): readonly (readonly [string, string])[] {
  const limit = 100_000;
  const unescaped = (text: string) => text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
  const telegram = renderTelegramChunks(markdown, { limit }).map(({ html }) => html);
  const others = FORMATS.map(
    (format) => [format, renderChunks(markdown, format, { limit }).map(({ body }) => body)] as const,
  );
  return [["telegram-html", telegram] as const, ...others].map(([format, bodies]) => [
    format,
    format === "telegram-html" || format === "slack-mrkdwn" ? unescaped(bodies.join("\n")) : bodies.join("\n"),
  ]);
}

const html = (markdown: string) => renderTelegramChunks(markdown)[0]?.html;

describe("a bare web address", () => {
  it.each([
    "https://github.com/foo/bar/blob/main/src/__init__.py",
    "https://x.org/_next_/a_b_/*c*/d",
    "https://x.org/a*b*c",
    "https://x.org/?a=1&copy;=2&lt=3",
    "https://x.org/~~a~~/(b_c_)/[d]",
    "https://x.org/%20a%2Fb%E3%80%80",
    "http://localhost:8080/__a__/b",
  ])("stays as it is: %s", (address) => {
    for (const text of [
      `See ${address} now`,
      `**see ${address}**`,
      `**${address}**`,
      `- _${address}_.`,
      `(${address})`,
    ])
      for (const [format, shown] of shownIn(text)) expect(shown, format).toContain(address);
  });

  it.each([
    ["**https://x.org/a_b**, _then_", "<b>https://x.org/a_b</b>, <i>then</i>"],
    ["_https://x.org/a_!", "<i>https://x.org/a</i>!"],
    ["**https://x.org/a**をご覧", "<b>https://x.org/a</b>をご覧"],
    ["||https://x.org/a_b_||", "<tg-spoiler>https://x.org/a_b_</tg-spoiler>"],
    ["[https://x.org/a_b_](https://y.org)", '<a href="https://y.org">https://x.org/a_b_</a>'],
    ["`https://x.org/*a*`", "<code>https://x.org/*a*</code>"],
    ["https://x.org/a\\_b and https://x.org/?a&amp;b", "https://x.org/a_b and https://x.org/?a&amp;b"],
    ["https://**bold**", "https://<b>bold</b>"],
  ])("leaves the marks around it: %j", (markdown, shown) => {
    expect(html(markdown)).toBe(shown);
  });

  it("can be copied where a label precedes it", () => {
    const shown = (markdown: string) => toPlain(parseMarkdown(markdown));
    expect(shown("[file](https://x.org/my%20file%2Fä%F0%9F%99%82.txt)")).toBe(
      "file (https://x.org/my%20file%2Fä%F0%9F%99%82.txt)",
    );
    expect(shown("<https://x.org/my%20file>")).toBe("https://x.org/my%20file");
  });

  const sign = fc.constantFrom(..."abcXYZ019-._~:/?#@!$&'*+,;=%é日_*_*&".split(""));
  const entity = fc.constantFrom("&copy;", "&lt", "__init__", "**", "~~", "(a_b)", "[1]", "%20", "`".replace("`", "-"));
  const address = fc
    .tuple(fc.constantFrom("https://", "http://"), fc.array(fc.oneof(sign, sign, entity), { maxLength: 30 }))
    .map(([scheme, parts]) => `${scheme}x.org/${parts.join("")}z`)
    .filter((made) => !/&amp;|\*\*[^!-~]/.test(made));
  const around = fc.constantFrom(
    ["", ""],
    ["See ", " now."],
    ["_a_ **b** ", " *c* `d`"],
    ["**", "**"],
    ["**see ", "** and"],
    ["*", "*."],
    ["~~", "~~"],
    ["(", ")"],
    ["- ", "\n- b_c_"],
    ["> ", "\n\nmore"],
    ["# ", ""],
    ["| a | b |\n|---|---|\n| ", " | c |"],
    ["a_b *c ", " d* e_f"],
    ["`", "`"],
    ["<", ">"],
    ["\n```\n", "\n```"],
  );

  it("is complete in every format, at any position", () => {
    fc.assert(
      fc.property(address, around, (made, [before = "", after = ""]) => {
        for (const [format, shown] of shownIn(before + made + after)) expect(shown, format).toContain(made);
      }),
      { numRuns: 2000 },
    );
  });
});
