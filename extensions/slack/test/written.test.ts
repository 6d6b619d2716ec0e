import { expect, describe, test } from "vitest";
import { DEFAULT_ACCOUNT } from "../../../src/types/ids.ts";
import { slackConfig } from "../config.ts";
import { readDelivery } from "../inbound/inbound.ts";
import type { ReadContext } from "../inbound/read-context.ts";
import { NO_LOOKUPS } from "./no-lookups.ts";

const names: Readonly<Record<string, string>> = { U1: "Ada", C9: "crew" };
const nameOf = async (id: string): Promise<string | undefined> => names[id];
const context: ReadContext = {
  account: DEFAULT_ACCOUNT,
  self: { userId: "UBOT", botId: "BBOT", teamId: "T1", name: "bot", team: "", scopes: [] },
  config: slackConfig.parse({}),
  people: { user: nameOf, channel: nameOf, sender: async (id) => ({ id }) },
  ...NO_LOOKUPS,
  commands: [],
  now: () => 0,
};

const PERSON = { type: "message", channel: "C9", user: "U1", ts: "1700000001.000100" };
const ALERTS = { type: "message", channel: "C9", bot_id: "B7", subtype: "bot_message", ts: "1700000001.000100" };
const heard = async (event: object) => readDelivery({ kind: "events_api", payload: { team_id: "T1", event } }, context);

const mrkdwn = (text: string) => ({ type: "mrkdwn", text });
const plain = (text: string) => ({ type: "plain_text", text });
const DEPLOY = [
  { type: "header", text: plain("Deploy &amp; checks") },
  { type: "divider" },
  {
    type: "section",
    text: mrkdwn("failed, <@U1>"),
    fields: [mrkdwn("*Job*\ntests"), mrkdwn("*Run*\n5")],
    accessory: { type: "image", image_url: "https://ci.example/5.png", alt_text: "a curve" },
  },
  { type: "context", elements: [mrkdwn("by"), { type: "image", image_url: "https://x/y.png", alt_text: "me" }] },
  { type: "actions", elements: [{ type: "button", text: plain("Open"), url: "https://ci.example/5?a=1&b=2" }] },
  { type: "image", title: plain("Load"), image_url: "https://ci.example/load.png", alt_text: "rising" },
];
const DEPLOY_TEXT = `Deploy & checks
failed, @Ada
*Job*
tests
*Run*
5
a curve https://ci.example/5.png
by me https://x/y.png
Open (https://ci.example/5?a=1&b=2)
Load
rising https://ci.example/load.png`;

const words = (text: string) => ({ type: "text", text });
const RICH = {
  type: "rich_text",
  elements: [
    {
      type: "rich_text_section",
      elements: [{ type: "user", user_id: "UBOT" }, words(" 1 < 2, see "), { type: "channel", channel_id: "C9" }],
    },
    {
      type: "rich_text_list",
      elements: [
        { type: "rich_text_section", elements: [words("one "), { type: "emoji", name: "tada" }] },
        { type: "rich_text_section", elements: [{ type: "link", url: "https://x/y", text: "two" }] },
      ],
    },
    { type: "rich_text_preformatted", elements: [words("a & b")] },
  ],
};
const cell = (text: string) => ({ type: "raw_text", text });
const TABLE = {
  type: "table",
  rows: [
    [cell("host"), cell("load")],
    [cell("a<b"), RICH.elements[2]],
  ],
};

describe("what Slack shows of a message", () => {
  test("in its blocks is its text", async () => {
    expect(await heard({ ...ALERTS, text: "", blocks: DEPLOY })).toMatchObject({ text: DEPLOY_TEXT });
    expect(await heard({ ...ALERTS, text: "New alert", blocks: DEPLOY })).toMatchObject({
      text: `New alert\n${DEPLOY_TEXT}`,
    });
  });

  test("may be nothing but the bot's name", async () => {
    expect(await heard({ ...PERSON, text: "<@UBOT>" })).toMatchObject({ text: "@UBOT", mentionsBot: true });
    expect(await heard({ ...PERSON, text: "" })).toBeUndefined();
  });

  test("in blocks that repeat the text is there once", async () => {
    const blocks = [{ type: "section", text: mrkdwn("*Deploy* failed") }];
    expect(await heard({ ...ALERTS, text: "Deploy failed: job 5", blocks })).toMatchObject({
      text: "Deploy failed: job 5",
    });
    expect(await heard({ ...PERSON, text: "hello <@U1>", blocks: [RICH] })).toMatchObject({ text: "hello @Ada" });
  });

  test("in the rich text of a bot is its text, and a mention of the agent there is one", async () => {
    expect(await heard({ ...ALERTS, text: "", blocks: [RICH] })).toMatchObject({
      text: "1 < 2, see #crew\n• one :tada:\n• two (https://x/y)\na & b",
      mentionsBot: true,
    });
    expect(await heard({ ...ALERTS, text: "", blocks: DEPLOY })).toMatchObject({ mentionsBot: false });
  });

  test("in a person's table is below the text", async () => {
    expect(await heard({ ...PERSON, text: "tbl", blocks: [RICH, TABLE] })).toMatchObject({
      text: "tbl\nhost | load\na<b | a & b",
    });
  });

  test("in a bot's attachments is below the text, but not a preview of a link", async () => {
    const attachment = {
      fallback: "not shown",
      pretext: "Look:",
      author_name: "Grafana",
      title: "CPU high",
      title_link: "https://g.example/1",
      text: "on <https://a.example|a>",
      fields: [{ title: "Value", value: "97 %", short: true }],
      image_url: "https://g.example/1.png",
      footer: "Grafana v11",
    };
    const shown =
      "Look:\nGrafana\nCPU high https://g.example/1\non a (https://a.example)\nValue: 97 %\nhttps://g.example/1.png\nGrafana v11";
    expect(await heard({ ...ALERTS, text: "New alert", attachments: [attachment] })).toMatchObject({
      text: `New alert\n${shown}`,
    });
    const bare = { title: "CPU high", fields: [{ title: "Value", value: "97 %" }] };
    expect(await heard({ ...ALERTS, text: "", attachments: [bare] })).toMatchObject({ text: "CPU high\nValue: 97 %" });
    const blocks = { color: "#f00", blocks: DEPLOY, fallback: "[no preview available]" };
    expect(await heard({ ...ALERTS, text: "", attachments: [blocks] })).toMatchObject({ text: DEPLOY_TEXT });
    const preview = { from_url: "https://x", text: "a page", title: "Page" };
    expect(await heard({ ...PERSON, text: "<https://x>", attachments: [preview] })).toMatchObject({
      text: "https://x",
    });
  });

  test("in a forwarded message is a line with its names, and its files are fetched", async () => {
    const file = { id: "F9", name: "a.png", mimetype: "image/png" };
    const gone = { id: "F8", name: "b.png", mode: "hidden_by_limit" };
    const forward = { is_share: true, author_name: "Bob", text: "look <@U1>", files: [file, gone] };
    expect(await heard({ ...PERSON, text: "", attachments: [forward] })).toMatchObject({
      untrusted: ["Forwarded from Bob: look @Ada", "File, hidden by the limits of the workspace's plan: b.png"],
      media: [{ kind: "image", name: "a.png", source: { at: "platform", ref: "F9" } }],
      context: { isForwarded: true },
    });
    const alert = { is_share: true, author_name: "CI", text: "", message_blocks: [{ message: { blocks: DEPLOY } }] };
    expect(await heard({ ...PERSON, text: "?", attachments: [alert] })).toMatchObject({
      text: "?",
      untrusted: [`Forwarded from CI: ${DEPLOY_TEXT}`],
    });
  });
});

const FULL = {
  ...PERSON,
  text: "Kword",
  bot_profile: { name: "CI" },
  username: "ci",
  files: [{ id: "F9", name: "a.png", title: "A", mimetype: "image/png", size: 1, mode: "hosted", duration_ms: 5 }],
  blocks: [...DEPLOY, RICH, TABLE],
  attachments: [
    { is_share: true, author_name: "Bob", text: "fwd", message_blocks: [{ message: { blocks: DEPLOY } }] },
    { title: "CPU", fields: [{ title: "Value", value: "97" }], blocks: DEPLOY, footer: "x", from_url: "" },
  ],
  metadata: { event_type: "x", event_payload: {} },
  parent_user_id: "U1",
};
const ODD: readonly unknown[] = [5, "x", [null], { a: [5] }];
/** These say which message it is, and whose and where. */
const NEEDED = new Set(["type", "channel", "user", "ts"]);

/** All places of values in an event, such as `blocks.0.text`. */
const placesIn = (value: unknown): readonly string[] =>
  typeof value !== "object" || value === null
    ? []
    : Object.entries(value).flatMap(([key, one]) => [key, ...placesIn(one).map((below) => `${key}.${below}`)]);

function spoilt(value: unknown, [key = "", ...below]: readonly string[], odd: unknown): unknown {
  const copy = Array.isArray(value) ? [...(value as unknown[])] : { ...(value as object) };
  Reflect.set(copy, key, below.length === 0 ? odd : spoilt(Reflect.get(copy, key), below, odd));
  return copy;
}

test("a field of a wrong type costs a message that field alone", async () => {
  for (const place of placesIn(FULL).filter((one) => !NEEDED.has(one))) {
    for (const odd of ODD) {
      const read = await heard(spoilt(FULL, place.split("."), odd) as object);
      expect(read, `${place} = ${JSON.stringify(odd)}`).toMatchObject({ sender: { id: "U1" } });
      if (place !== "text") expect(read?.text).toContain("Kword");
    }
  }
});
