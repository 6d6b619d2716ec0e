import { describe, expect, it } from "vitest";
import { estimateTextTokens, estimateTokens } from "../../src/sessions/transcript/tokens.ts";
import { assistant, user } from "../kit/store/transcript-file.ts";

describe("the token estimate", () => {
  it.each([
    ["", 0],
    ["four", 1],
    ["fives", 2],
    ["你好世界", 4],
    ["ok 你好", 3],
    ["안녕", 2],
    ["ひらがな", 4],
    ["😀😀", 1],
    ["x".repeat(400), 100],
  ])("of %j is %i", (text, tokens) => {
    expect(estimateTextTokens(text)).toBe(tokens);
  });

  it("counts images, thinking and tool calls", () => {
    expect(estimateTokens(user("four"))).toBe(1);
    const image = { type: "image", data: "AAAA".repeat(1000), mimeType: "image/png" } as const;
    expect(estimateTokens({ ...user(""), content: [image, { type: "text", text: "four" }] })).toBe(1201);
    const call = { type: "toolCall", id: "1", name: "read", arguments: { path: "a" } } as const;
    const thinking = { type: "thinking", thinking: "eight ch" } as const;
    expect(estimateTokens({ ...assistant("four"), content: [thinking, call] })).toBe(2 + 4);
  });
});
