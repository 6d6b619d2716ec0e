import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { emojiOf, nameOf } from "../emoji.ts";
import { escapeText, isNamed, readable } from "../words.ts";

const nobody = { user: async () => undefined, channel: async () => undefined };
const read = async (text: string) => readable(text, "UBOT", nobody);

describe("readable", () => {
  test.each([
    ["<@UBOT> hello", "hello"],
    ["<@UBOT>: /new", "/new"],
    ["ask <@UBOT> and <@U2|Bob>", "ask @UBOT and @Bob"],
    ["in <#C1|general> or <#C2>", "in #general or #C2"],
    ["<!here> <!channel> <!subteam^S1|@team> <!subteam^S2>", "@here @channel @team @S2"],
    ["at <!date^1392734382^{date}|noon>", "at noon"],
    ["<https://example.org/?a=1&amp;b=2>", "https://example.org/?a=1&b=2"],
    ["<https://example.org|https://example.org>", "https://example.org"],
    ["<mailto:a@example.org|a@example.org> <tel:123|call>", "a@example.org call (tel:123)"],
    ["1 &lt; 2 &amp;&amp; 3 &gt; 2 &amp;lt;", "1 < 2 && 3 > 2 &lt;"],
    ["", ""],
  ])("%s", async (text, expected) => {
    expect(await read(text)).toBe(expected);
  });

  test("gives back what was escaped", async () => {
    await fc.assert(
      fc.asyncProperty(fc.string(), async (text) => {
        expect(await read(escapeText(text))).toBe(text.trim());
      }),
    );
  });

  test("knows a mention with and without a name", () => {
    expect(isNamed("x <@U1>", "U1")).toBe(true);
    expect(isNamed("x <@U1|bot>", "U1")).toBe(true);
    expect(isNamed("x <@U12>", "U1")).toBe(false);
  });
});

test("emoji have names, and names emoji", () => {
  expect(["👍", "👍🏽", "❤", "❤️", ":tada:", "party_parrot", "🪬"].map(nameOf)).toEqual([
    "+1",
    "+1",
    "heart",
    "heart",
    "tada",
    "party_parrot",
    undefined,
  ]);
  expect(["thumbsup", "+1::skin-tone-3", "heart", "party_parrot"].map(emojiOf)).toEqual([
    "👍",
    "👍",
    "❤️",
    ":party_parrot:",
  ]);
});
