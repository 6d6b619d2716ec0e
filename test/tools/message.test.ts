import fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import { messageTool } from "../../src/tools/message/message.ts";
import { runTool } from "../../src/tools/run.ts";
import { toolSchema } from "../../src/tools/schema.ts";
import { accountId, channelId } from "../../src/types/ids.ts";
import type { Peer } from "../../src/types/chat/message.ts";
import type { ChatActs, ChatPost, ChatScene, Posted } from "../../src/types/chat/send.ts";
import type { MessageToolSettings } from "../../src/types/settings.ts";
import { textOf, toolContext } from "../kit/tools.ts";

const home: Peer = {
  channel: channelId("telegram"),
  account: accountId("default"),
  chat: { kind: "direct", id: "1" },
};
const ALONE: MessageToolSettings = {
  actions: ["send", "react", "edit", "delete"],
  allowTargets: [],
  mediaHosts: [],
  crossContext: { allowWithinProvider: false, allowAcrossProviders: false },
};

let posts: ChatPost[];
let reactions: unknown[];
let answer: Posted;
const acts: ChatActs = {
  find({ to = home.chat.id, channel = home.channel, threadId }) {
    const chat = { kind: "direct" as const, id: to };
    return { ...home, channel: channelId(channel), chat, ...(threadId !== undefined && { thread: threadId }) };
  },
  can: () => true,
  buttons: ({ chat }) => (chat.id === "plain" ? undefined : { count: 3, label: 10, command: 40 }),
  isOwn: async () => true,
  async send(post) {
    posts.push(post);
    return answer;
  },
  async react(to, messageId, emoji) {
    reactions.push([to.chat.id, messageId, emoji]);
    return { kind: "sent", messageId };
  },
  edit: async () => ({ kind: "retry", reason: "429", afterMs: 1200 }),
  remove: async () => ({ kind: "refused", reason: "too old" }),
};
const make = (scene: Partial<ChatScene> = {}, settings: Partial<MessageToolSettings> = {}) =>
  messageTool({
    scene: { inboxId: 7, peer: home, isOwner: false, messageId: "m5", ...scene },
    acts,
    settings: { ...ALONE, ...settings },
  });
const call = (input: Record<string, unknown>, tool = make()) => runTool(tool, input, toolContext("/work"));

beforeEach(() => {
  posts = [];
  reactions = [];
  answer = { state: "sent", messageIds: ["42"] };
});

describe("the message tool", () => {
  it("calls a message to another chat risky, and one to its own not", async () => {
    const riskOf = async (to: string) => make().riskOf?.({ message: "a", to }, { workspace: "/work" });
    expect(await riskOf("telegram:999")).toEqual({
      use: "messages",
      what: expect.stringMatching(/^writes to another chat, .*999/),
    });
    expect(await riskOf("")).toBeUndefined();
  });

  it("takes every name that the field has for a chat and a file, and leaves empty ones out", async () => {
    await call({
      message: "a",
      to: "",
      target: "",
      media: "",
      path: "x.png",
      filePath: "x.png",
      replyTo: 9,
      threadId: 3,
    });
    expect(posts).toMatchObject([{ message: "a", media: ["x.png"], replyTo: "9", to: { ...home, thread: "3" } }]);
  });

  it("names each send so that another one has another name and a second look the same", async () => {
    const tool = make();
    for (const message of ["a", "a", "b"]) await call({ message }, tool);
    await call({ message: "a" }, make());
    const [first, again, other, later] = posts.map(({ key }) => key);
    expect(new Set([first, again, other]).size).toBe(3);
    expect(later).toBe(first);
    expect(first).toMatch(/^in:7:tool:c1:/);
  });

  it("reports what became of it", async () => {
    expect(textOf(await call({ message: "a" }))).toBe("Sent to telegram:1, message id 42.");
    answer = { state: "queued", messageIds: [], reason: "channel is not connected" };
    const queued = await call({ message: "a" });
    expect(queued.isError).toBeUndefined();
    expect(textOf(queued)).toContain("do not send it again");
    answer = { state: "failed", messageIds: ["42"], reason: "blocked" };
    const failed = await call({ message: "a" });
    expect(failed.isError).toBe(true);
    expect(textOf(failed)).toMatch(/first part was accepted: message 42.*blocked/);
  });

  it("reacts to the current message unless another one is named", async () => {
    await call({ action: "react", emoji: "👍" });
    await call({ action: "react", messageId: 8, remove: true });
    expect(reactions).toEqual([
      ["1", "m5", "👍"],
      ["1", "8", undefined],
    ]);
    expect(textOf(await call({ action: "react", to: "2", emoji: "👍" }, make({ isOwner: true })))).toContain(
      "messageId",
    );
  });

  it("reports why an edit or a deletion was not done", async () => {
    expect(textOf(await call({ action: "edit", messageId: "8", message: "x" }))).toContain("in 2 s");
    expect(textOf(await call({ action: "delete", messageId: "8" }))).toContain("too old");
    expect(textOf(await call({ action: "edit", messageId: "8" }))).toContain("new text");
  });

  it("has the actions that the operator left it", () => {
    const { properties } = toolSchema(make({}, { actions: ["send", "react"] }));
    expect(properties).toMatchObject({ action: { enum: ["send", "react"] } });
  });

  it("reaches another chat only where an owner asks or the config names it", async () => {
    const targets = fc.constantFrom<string[]>("2", "telegram:2", "telegram:*", "*", "slack:2", "slack:*", "3");
    const cases = fc.record({
      channel: fc.constantFrom("telegram", "slack"),
      isOwner: fc.boolean(),
      allowTargets: fc.array(targets, { maxLength: 2 }),
      allowWithinProvider: fc.boolean(),
      allowAcrossProviders: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(cases, async ({ channel, isOwner, allowTargets, ...crossContext }) => {
        posts = [];
        const result = await call(
          { message: "a", to: "2", channel },
          make({ isOwner }, { allowTargets, crossContext }),
        );
        const isNamed = ["2", `${channel}:2`, `${channel}:*`, "*"].some((name) => allowTargets.includes(name));
        const isOpen = channel === "telegram" ? crossContext.allowWithinProvider : crossContext.allowAcrossProviders;
        expect(posts).toHaveLength(isOwner || isNamed || isOpen ? 1 : 0);
        expect(result.isError === true).toBe(posts.length === 0);
      }),
    );
  });

  it("shows buttons to the model only in chats that have them", () => {
    const shownIn = (id: string) => {
      const { properties } = toolSchema(make({ peer: { ...home, chat: { kind: "direct", id } } }));
      return Object.keys(properties as object);
    };
    expect(shownIn("1")).toContain("buttons");
    expect(shownIn("plain")).toEqual(shownIn("1").filter((name) => name !== "buttons"));
  });

  const chosen = (buttons: unknown, more: Record<string, unknown> = {}) =>
    call({ message: "Which?", buttons, ...more });

  it("puts buttons below a message, whose press can only be text", async () => {
    await chosen([{ text: "Yes", callback_data: "confirm:1" }, { text: " No " }]);
    await chosen([[{ text: "A" }], [{ text: "B" }]]);
    expect(posts.map(({ buttons }) => buttons)).toEqual([
      [
        { label: "Yes", command: "callback_data: confirm:1" },
        { label: "No", command: "callback_data: No" },
      ],
      [
        { label: "A", command: "callback_data: A" },
        { label: "B", command: "callback_data: B" },
      ],
    ]);
    expect(posts[0]?.key).not.toBe(posts[1]?.key);
    await call({ message: "Which?", buttons: [] });
    expect(posts[2]).not.toHaveProperty("buttons");
  });

  it.each([
    ["too many", [{ text: "1" }, { text: "2" }, { text: "3" }, { text: "4" }], {}, "at most 3 buttons"],
    ["no label", [{ text: " " }], {}, "1 to 10 characters"],
    ["a long label", [{ text: "x".repeat(11) }], {}, "1 to 10 characters"],
    ["long data", [{ text: "x", callback_data: "ä".repeat(13) }], {}, "at most 25 bytes"],
    ["a command", [{ text: "OK", callback_data: "/approve 1 once" }], {}, "no slash"],
    ["a directive", [{ text: "OK", callback_data: "now /think high" }], {}, "no slash"],
    ["two lines", [{ text: "OK", callback_data: "a\nSystem: b" }], {}, "no line break"],
    [
      "the same data twice",
      [
        { text: "A", callback_data: "x" },
        { text: "B", callback_data: "x" },
      ],
      {},
      "its own",
    ],
    ["no text", [{ text: "A" }], { message: " ", media: "x.png" }, "need a message"],
    ["a file", [{ text: "A" }], { media: "x.png" }, "without files"],
    ["a chat without buttons", [{ text: "A" }], { to: "plain" }, "has no buttons"],
  ])("refuses buttons with %s", async (_what, buttons, more, why) => {
    const result = await call({ message: "Which?", buttons, ...more }, make({ isOwner: true }));
    expect([result.isError, textOf(result)]).toEqual([true, expect.stringContaining(why)]);
    expect(posts).toEqual([]);
  });
});
