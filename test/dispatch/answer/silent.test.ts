import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { textResult } from "../../../src/tools/define.ts";
import { openDispatchFixture, type Boot, type DispatchFixture } from "../../kit/dispatch.ts";
import { modelsAt } from "../../kit/models.ts";
import { makeTool } from "../../kit/tools.ts";
import { PATIENCE } from "../../kit/until.ts";

let fixture: DispatchFixture;
let boot: Boot;
beforeEach(async () => {
  fixture = await openDispatchFixture();
  fixture.tools.push(makeTool("look", () => Promise.resolve(textResult("seen"))));
  boot = await fixture.boot();
});
afterEach(() => fixture.close());

/** The model writes one text with a call of its tool, and the other one after it. */
const writes = (first: string, second: string) =>
  fixture.model.answer(({ isAfterTool }) =>
    isAfterTool ? { text: second } : { text: first, tool: "look", args: { text: "x" } },
  );

it("keeps the thoughts of a model that wrote only their ends before out of blocks too", async () => {
  const chunk = { minChars: 10, maxChars: 60, breakPreference: "paragraph" } as const;
  const agent = { streaming: { blocks: true, breakAt: "text_end", chunk } } as const;
  fixture.rules = { agent, chat: () => ({ replyToMode: "off", streaming: "block" }) };
  fixture.model.answer(() => ({ text: `${"A secret plan. ".repeat(9)}\n\n</think>\n\nAll done.` }));
  await boot.ask("one");
  const first = fixture.platform.texts.length;
  await boot.ask("two");
  expect(fixture.platform.texts.slice(first)).toEqual(["All done."]);
});

describe("a model whose server may not separate its thoughts from its text", () => {
  const chunk = { minChars: 10, maxChars: 60, breakPreference: "paragraph" } as const;
  const agent = { streaming: { blocks: true, breakAt: "text_end", chunk } } as const;
  const PARAGRAPHS = ["The first paragraph of it.", "The second paragraph of it.", "The third and last of it."];
  beforeEach(async () => {
    fixture.rules = { agent, chat: () => ({ replyToMode: "off", streaming: "block" }) };
    fixture.models = modelsAt(fixture.model.url, undefined, { reasoning: true });
    boot = await fixture.boot();
  });

  /** The last word waits until the first block is in the chat. */
  const shownInParts = (thinking?: string) =>
    fixture.model.answer(() => ({
      text: PARAGRAPHS.join("\n\n"),
      until: vi.waitUntil(() => fixture.platform.texts.includes(PARAGRAPHS[0] ?? ""), PATIENCE),
      ...(thinking !== undefined && { thinking }),
    }));

  it("shows no block of its first text that turns out to be a thought, in no conversation", async () => {
    const thought = Array.from({ length: 4 }, () => "A secret plan, of some words.").join("\n\n");
    fixture.model.answer(() => ({ text: `${thought}\n\n</think>\n\nAll done.`, everyMs: 20 }));
    await boot.ask("one");
    await boot.ask("two", "2002");
    expect(fixture.platform.texts).toEqual(["All done.", "All done."]);
  });

  it("shows blocks of its first text when that has ended, and of the next ones while they come", async () => {
    fixture.model.answer(() => ({ text: "A first text.\n\nIt has two blocks." }));
    await boot.ask("one");
    expect(fixture.platform.texts).toEqual(["A first text.", "It has two blocks."]);
    shownInParts();
    await boot.ask("two", "2002");
    expect(fixture.platform.texts.slice(2)).toEqual(PARAGRAPHS);
  });

  it("shows blocks of its first text while they come when it has thought apart from it", async () => {
    shownInParts("hm");
    await boot.ask("one");
    expect(fixture.platform.texts).toEqual(PARAGRAPHS);
  });
});

it.each(["ANNOUNCE_SKIP", "REPLY_SKIP", "**ANNOUNCE_SKIP**."])(
  "shows no %s, which is a word between agents",
  async (word) => {
    writes(word, "All done.");
    expect(await boot.ask("hello")).toEqual({ kind: "replied" });
    writes(word, word);
    expect(await boot.ask("hello")).toEqual({ kind: "silent" });
    fixture.model.answer(() => ({ text: "The word REPLY_SKIP ends a talk." }));
    await boot.ask("what is it?");
    expect(fixture.platform.texts).toEqual(["All done.", "The word REPLY_SKIP ends a talk."]);
  },
);

it("quotes in each block the message that the model has named for it", async () => {
  const chunk = { minChars: 1, maxChars: 60, breakPreference: "paragraph" } as const;
  const agent = { streaming: { blocks: true, breakAt: "text_end", chunk } } as const;
  fixture.rules = { agent, chat: () => ({ replyToMode: "off", streaming: "block" }) };
  fixture.model.answer(({ isAfterTool }) =>
    isAfterTool
      ? { text: "[[reply_to:msg-7]] About that one." }
      : { text: "Let me see.", tool: "look", args: { text: "x" } },
  );
  await boot.ask("hello");
  expect(fixture.platform.messages.map(({ text, replyTo }) => [text, replyTo])).toEqual([
    ["Let me see.", undefined],
    ["About that one.", "msg-7"],
  ]);
});

describe.each(["off", "partial", "block"] as const)("a message of the model beside others (%s)", (streaming) => {
  beforeEach(() => {
    fixture.rules = { chat: () => ({ replyToMode: "off", streaming }) };
  });

  it("is left out when it is silent", async () => {
    writes("NO_REPLY", "All done.");
    expect(await boot.ask("hello")).toEqual({ kind: "replied" });
    expect(fixture.platform.texts).toEqual(["All done."]);
    expect(JSON.stringify(fixture.platform.calls)).not.toContain("NO_");
  });

  it("is silence when the others are silent too", async () => {
    writes("NO_REPLY", "NO_REPLY");
    expect(await boot.ask("hello")).toEqual({ kind: "silent" });
    expect(fixture.platform.calls).toEqual([]);
  });

  it("is a thought when it calls a tool in the middle of one", async () => {
    writes("<think>a secret", "All done.");
    expect(await boot.ask("hello")).toEqual({ kind: "replied" });
    expect(fixture.platform.texts).toEqual(["All done."]);
  });

  it("is a thought up to a tag that ends one, also where none began it", async () => {
    fixture.model.answer(() => ({ text: "A secret plan.\n\nMore of it.\n</think>\n\nAll done." }));
    expect(await boot.ask("hello")).toEqual({ kind: "replied" });
    expect(fixture.platform.texts).toEqual(["All done."]);
  });

  it.each(["\u200B", "\u0000\u0001", "\uFEFF\u2060"])("is no answer when nobody could see it: %j", async (text) => {
    fixture.model.answer(() => ({ text }));
    expect(await boot.ask("hello")).toMatchObject({ kind: "failed" });
    expect(fixture.platform.texts).toEqual([expect.stringContaining("Something went wrong")]);
  });

  it("answers the message that it names", async () => {
    writes("[[reply_to:msg-7]] Here it is.", "NO_REPLY");
    await boot.ask("hello");
    expect(fixture.platform.messages).toMatchObject([{ text: "Here it is.", replyTo: "msg-7" }]);
  });
});
