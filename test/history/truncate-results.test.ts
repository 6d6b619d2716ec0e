import fc from "fast-check";
import { expect, it } from "vitest";
import { truncateResults } from "../../src/history/truncate-results.ts";
import { estimateTokens } from "../../src/sessions/transcript/tokens.ts";
import type { ChatMessage, ImageContent, TextContent } from "../../src/types/run/model.ts";

const result = (content: (TextContent | ImageContent)[]): ChatMessage => ({
  role: "toolResult",
  toolCallId: "call",
  toolName: "read",
  content,
  isError: false,
  timestamp: 3,
});
const text = (said: string): TextContent => ({ type: "text", text: said });
const image: ImageContent = { type: "image", data: "AAAA", mimeType: "image/png" };
const said = (message: ChatMessage | undefined): string => JSON.stringify(message?.content);

const words = fc
  .tuple(fc.constantFrom("x", "語", "word ", "😀", "é"), fc.nat(3000))
  .map(([unit, times]) => unit.repeat(times));
const part = fc.oneof({ weight: 4, arbitrary: words.map(text) }, { weight: 1, arbitrary: fc.constant(image) });
const message: fc.Arbitrary<ChatMessage> = fc.oneof(
  words.map((content): ChatMessage => ({ role: "user", content, timestamp: 1 })),
  fc.array(part, { maxLength: 4 }).map(result),
);
const chat = fc.array(message, { maxLength: 8 });
const size = fc.record({ windowTokens: fc.integer({ min: 0, max: 10_000 }), share: fc.constantFrom(0.1, 0.3, 1) });

it("cuts only results, below their share, keeps images and order, and cuts nothing twice", () => {
  fc.assert(
    fc.property(chat, size, (messages, limits) => {
      const cut = truncateResults(messages, limits);
      const most = Math.max(100, Math.floor(limits.windowTokens * limits.share));
      expect(cut).toHaveLength(messages.length);
      for (const [at, before] of messages.entries()) {
        const after = cut[at]!;
        if (before.role !== "toolResult" || estimateTokens(before) <= most) expect(after).toBe(before);
        if (before.role !== "toolResult" || after.role !== "toolResult") continue;
        const images = before.content.filter(({ type }) => type === "image");
        expect(after.content.filter(({ type }) => type === "image")).toEqual(images);
        expect(estimateTokens(after)).toBeLessThanOrEqual(Math.max(most, images.length * 1200 + 100));
        expect(said(after).isWellFormed()).toBe(true);
      }
      expect(truncateResults(cut, limits)).toBe(cut);
    }),
  );
});

it("shows head and tail, and how much is missing between them", () => {
  const whole = `HEAD${"x".repeat(40_000)}TAIL`;
  const [cut] = truncateResults([result([text(whole), image])], { windowTokens: 10_000 });
  const shown = said(cut);
  expect(shown).toMatch(/^\[\{"type":"text","text":"HEADx/);
  expect(shown).toMatch(/xTAIL"\},\{"type":"image"/);
  const left = Number(/… (\d+) characters are left out/.exec(shown)?.[1]);
  expect(left + (shown.match(/x+/g) ?? []).filter((run) => run.length > 9).join("").length + 8).toBe(whole.length);
});

it("gives the very messages back when all fit", () => {
  const messages = [result([text("short")])];
  expect(truncateResults(messages, { windowTokens: 1000 })).toBe(messages);
});
