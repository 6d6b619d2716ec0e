import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { DEFAULT_ACCOUNT } from "../../../src/types/ids.ts";
import { emojiOf, emojiName } from "../inbound/emoji.ts";
import { slackConfig } from "../config.ts";
import { readDelivery } from "../inbound/inbound.ts";
import { escapeText, isMentioned, readableText } from "../inbound/message-text.ts";
import { NO_LOOKUPS } from "./no-lookups.ts";

const nobody = { user: async () => undefined, channel: async () => undefined };
const read = async (text: string) => readableText(text, "UBOT", nobody);

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
    expect(isMentioned("x <@U1>", "U1")).toBe(true);
    expect(isMentioned("x <@U1|bot>", "U1")).toBe(true);
    expect(isMentioned("x <@U12>", "U1")).toBe(false);
  });
});

const context = {
  account: DEFAULT_ACCOUNT,
  self: { userId: "UBOT", botId: "BBOT", teamId: "T1", name: "bot", team: "", scopes: [] },
  config: slackConfig.parse({}),
  people: { ...nobody, sender: async (id: string) => ({ id }) },
  ...NO_LOOKUPS,
  commands: [],
  now: () => 0,
};

test("nothing that Slack could deliver makes reading fail, and what is read is plain data", async () => {
  const text = fc.option(fc.string());
  const event = fc.record(
    {
      type: fc.constantFrom("message", "app_mention", "reaction_added"),
      subtype: fc.constantFrom(undefined, "message_changed", "file_share", "bot_message"),
      channel: fc.constantFrom("D1", "C1"),
      user: text,
      text,
      ts: fc.constant("1.000001"),
      thread_ts: fc.constantFrom(undefined, "1.000001", "0.000001"),
      files: fc.option(fc.array(fc.record({ id: fc.string(), mode: text, mimetype: text }), { maxLength: 2 })),
      message: fc.option(fc.record({ ts: fc.constant("1.000002"), text, edited: fc.constant({ ts: "2.0" }) })),
      item: fc.anything(),
    },
    { requiredKeys: ["type"] },
  );
  await fc.assert(
    fc.asyncProperty(fc.oneof(event, fc.anything()), async (payload) => {
      const message = await readDelivery({ kind: "events_api", payload: { event: payload } }, context);
      expect(JSON.parse(JSON.stringify(message ?? null))).toEqual(message ?? null);
      expect(await readDelivery({ kind: "interactive", payload }, context)).toBeUndefined();
      expect(await readDelivery({ kind: "slash_commands", payload }, context)).toBeUndefined();
    }),
  );
});

test("emoji have names, and names emoji", () => {
  expect(["👍", "👍🏽", "❤", "❤️", ":tada:", "party_parrot", "🪬"].map(emojiName)).toEqual([
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
