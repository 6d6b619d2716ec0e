import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ACTIONS } from "../../../src/tools/message/fields.ts";
import { messageTool } from "../../../src/tools/message/message.ts";
import { runTool } from "../../../src/tools/run.ts";
import type { ButtonLimits } from "../../../src/types/chat/channel.ts";
import type { Peer } from "../../../src/types/chat/message.ts";
import type { ChatActs, ChatPost } from "../../../src/types/chat/send.ts";
import { accountId, channelId } from "../../../src/types/ids.ts";
import { textOf, toolContext } from "../../kit/tools.ts";

const HOME: Peer = {
  channel: channelId("telegram"),
  account: accountId("default"),
  chat: { kind: "direct", id: "1" },
};
const LIMITS: ButtonLimits = { count: 4, label: 20, command: 60 };

/** What a call sends, and what the model is told. */
async function send(input: object, limits: ButtonLimits | "none" = LIMITS) {
  const posts: ChatPost[] = [];
  const nothing = async () => ({ kind: "refused", reason: "not in this test" }) as const;
  const acts: ChatActs = {
    find: () => HOME,
    can: () => true,
    actions: () => ({}),
    buttons: () => (limits === "none" ? undefined : limits),
    isOwn: async () => true,
    async send(post) {
      posts.push(post);
      return { state: "sent", messageIds: ["42"] };
    },
    react: nothing,
    edit: nothing,
    remove: nothing,
  };
  const crossContext = { allowWithinProvider: false, allowAcrossProviders: false };
  const settings = { actions: ACTIONS, allowTargets: [], mediaHosts: [], crossContext };
  const tool = messageTool({ scene: { inboxId: 7, peer: HOME, isOwner: true, messageId: "m5" }, acts, settings });
  const result = await runTool(tool, { action: "send", ...input }, toolContext("/work"));
  const [post] = posts;
  return {
    said: textOf(result),
    message: post?.message,
    buttons: post?.buttons?.map(({ label, command }) => [label, command]),
  };
}

const CHOICES = [{ label: "Ship it", value: "ship" }, { label: "Wait" }];

describe("a presentation", () => {
  it("is a title, texts and lines between them, after the message", async () => {
    const presentation = {
      title: "Deploy",
      tone: "warning",
      blocks: [
        { type: "text", text: "All **tests** pass." },
        { type: "divider" },
        { type: "context", text: "build 12\nof today" },
      ],
    };
    expect((await send({ message: "Look:", presentation })).message).toBe(
      "Look:\n\n**⚠️ Deploy**\n\nAll **tests** pass.\n\n---\n\n_build 12 of today_",
    );
    expect((await send({ presentation })).message).toMatch(/^\*\*⚠️ Deploy\*\*/);
  });

  it("has buttons where the chat takes all of them, and links as lines", async () => {
    const presentation = {
      blocks: [
        { type: "text", text: "Ready?" },
        { type: "buttons", buttons: [...CHOICES, { label: "Read [more]", url: "https://a.test/x" }] },
      ],
    };
    expect(await send({ presentation })).toMatchObject({
      message: "Ready?\n\n- [Read more](https://a.test/x)",
      buttons: [
        ["Ship it", "callback_data: ship"],
        ["Wait", "callback_data: Wait"],
      ],
    });
  });

  it.each([
    ["has no buttons", "none"],
    ["takes fewer of them", { ...LIMITS, count: 1 }],
    ["takes only shorter ones", { ...LIMITS, label: 3 }],
  ] as const)("has its choices as lines where the chat %s", async (_why, limits) => {
    const select = { type: "select", placeholder: "What now?", options: CHOICES };
    const sent = await send({ presentation: { blocks: [select] } }, limits);
    expect(sent).toMatchObject({ message: "What now?\n- Ship it\n- Wait", buttons: undefined });
  });

  it("has its choices as lines beside a file, which goes without buttons", async () => {
    const presentation = {
      blocks: [
        { type: "text", text: "Ready?" },
        { type: "select", options: CHOICES },
      ],
    };
    expect(await send({ presentation, media: "a.png" })).toMatchObject({
      message: "Ready?\n\n- Ship it\n- Wait",
      buttons: undefined,
    });
  });

  it("has tables, and charts of text", async () => {
    const blocks = [
      { type: "table", columns: ["Name", "Age"], rows: [["Ada|B", 36], ["Bob"]] },
      {
        type: "chart",
        text: "Visits",
        rows: [
          ["Mon", 4],
          ["Tuesday", 8],
          ["Wed", 0],
        ],
      },
    ];
    expect((await send({ presentation: { blocks } })).message).toBe(
      [
        "| Name | Age |\n| --- | --- |\n| Ada\\|B | 36 |\n| Bob |  |",
        "Visits\n```\nMon     ██████ 4\nTuesday ████████████ 8\nWed      0\n```",
      ].join("\n\n"),
    );
  });

  it("without anything to show is nothing to send", async () => {
    const blocks = [
      { type: "text" },
      { type: "context", text: " " },
      { type: "table" },
      { type: "chart" },
      { type: "buttons" },
    ];
    const { said, message } = await send({ presentation: { title: " ", blocks } });
    expect(said).toBe("There is nothing to send: give message or media.");
    expect(message).toBeUndefined();
  });

  it("with choices alone has them as lines: buttons need a text", async () => {
    const presentation = { blocks: [{ type: "buttons", buttons: CHOICES }] };
    expect(await send({ presentation })).toMatchObject({ message: "- Ship it\n- Wait", buttons: undefined });
  });

  it("of any parts loses no choice: each is a button or a line", async () => {
    const choice = fc.record({ label: fc.stringMatching(/^[A-Za-z0-9 ]{0,24}[A-Za-z0-9]$/) });
    const block = fc.oneof(
      fc.record({ type: fc.constant("text"), text: fc.string() }),
      fc.record({ type: fc.constant("buttons"), buttons: fc.array(choice, { maxLength: 4 }) }),
      fc.record({ type: fc.constant("select"), options: fc.array(choice, { maxLength: 4 }) }),
      fc.record({
        type: fc.constantFrom("table", "chart"),
        rows: fc.array(
          fc.array(fc.oneof(fc.string(), fc.double({ noNaN: true, noDefaultInfinity: true })), { maxLength: 3 }),
          { maxLength: 3 },
        ),
      }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(block, { maxLength: 5 }), async (blocks) => {
        const { message = "", buttons = [], said } = await send({ message: "Choose", presentation: { blocks } });
        expect(said).toContain("42");
        const shown = [
          ...buttons.map(([label]) => label),
          ...message.split("\n").map((line) => line.replace(/^- /, "").trim()),
        ];
        const choices = blocks.flatMap(
          (one) => ("buttons" in one && one.buttons) || ("options" in one && one.options) || [],
        );
        for (const { label } of choices) expect(shown).toContain(label.trim());
      }),
      { numRuns: 100 },
    );
  });
});
